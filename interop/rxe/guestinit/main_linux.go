// Command guestinit is the first process of the virtual machine in which the
// kernel's RoCE driver runs:
//
//	mount ──> load the kernel's modules ──> bring up the network ──> rdma link add rxe0
//	                                                                      └──> agent.Serve
//
// What differs from run to run comes by the kernel's command line, as
// guest.address and guest.mtu. There is no other program in the machine that
// would have to be configured, and nothing to be saved when it ends.
package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/braid-rdma/braid/interop/rxe/agent"
)

const (
	modulesDir   = "/modules" // with a file "order" that names them in order
	interfaceDir = "/sys/class/net/"
	netdev       = "eth0"
	rdmaDevice   = "rxe0"
)

func main() {
	err := run()
	// The machine must not outlive its first process, and what it prints here is
	// what the test shows.
	fmt.Println("guestinit:", err)
	time.Sleep(100 * time.Millisecond)
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
}

func run() error {
	if err := os.Setenv("PATH", "/bin"); err != nil {
		return err
	}
	if err := mountAll(); err != nil {
		return err
	}
	parameters, err := readParameters("/proc/cmdline")
	if err != nil {
		return err
	}
	if err := loadModules(); err != nil {
		return err
	}
	if err := raiseNetwork(parameters["guest.address"], parameters["guest.mtu"]); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("", strconv.Itoa(agent.Port)))
	if err != nil {
		return err
	}
	fmt.Println("guestinit: ready")
	return agent.Serve(listener)
}

func mountAll() error {
	for _, m := range []struct{ kind, at string }{
		{"proc", "/proc"}, {"sysfs", "/sys"}, {"devtmpfs", "/dev"}, {"tmpfs", "/tmp"},
	} {
		if err := os.MkdirAll(m.at, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m.kind, m.at, m.kind, 0, ""); err != nil {
			return fmt.Errorf("mount %s: %w", m.at, err)
		}
	}
	return nil
}

// readParameters are the name=value pairs of the kernel's command line.
func readParameters(path string) (map[string]string, error) {
	line, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	parameters := map[string]string{}
	for _, word := range strings.Fields(string(line)) {
		if name, value, ok := strings.Cut(word, "="); ok {
			parameters[name] = value
		}
	}
	return parameters, nil
}

func loadModules() error {
	order, err := os.ReadFile(filepath.Join(modulesDir, "order"))
	if err != nil {
		return err
	}
	for _, name := range strings.Fields(string(order)) {
		if err := loadModule(filepath.Join(modulesDir, name)); err != nil {
			return fmt.Errorf("module %s: %w", name, err)
		}
	}
	return nil
}

func loadModule(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.FinitModule(int(f.Fd()), "", 0)
}

// raiseNetwork configures the interface and puts the RoCE device on it. The
// interface appears a moment after its driver is loaded.
func raiseNetwork(address, mtu string) error {
	for waited := 0; ; waited++ {
		if _, err := os.Stat(interfaceDir + netdev); err == nil {
			break
		}
		if waited == 500 {
			return fmt.Errorf("%s did not appear", netdev)
		}
		time.Sleep(10 * time.Millisecond)
	}
	for _, line := range []string{
		"ip link set lo up",
		"ip address add " + address + " dev " + netdev,
		"ip link set " + netdev + " mtu " + mtu + " up",
		"rdma link add " + rdmaDevice + " type rxe netdev " + netdev,
	} {
		args := strings.Fields(line)
		if output, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", line, err, bytes.TrimSpace(output))
		}
	}
	return nil
}
