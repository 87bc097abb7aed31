package machine

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strconv"
	"time"

	"github.com/braid-rdma/braid/interop/rxe/agent"
)

// Config says how to boot a machine.
type Config struct {
	Dir      string       // with what BuildImage wrote; Boot only reads it
	Tap      string       // name of this host's interface
	Host     netip.Prefix // its address
	Guest    netip.Prefix // the machine's address
	MTU      int          // of the link
	MemoryMB int          // default 512
	// Processors is how many the machine has; default 1.
	Processors int
}

const (
	bootTime     = 5 * time.Minute
	shutdownTime = 5 * time.Second
)

// Machine is a virtual machine that is up.
type Machine struct {
	config Config
	qemu   *process
}

// Boot boots a machine and returns when commands can be run in it.
func Boot(ctx context.Context, config Config) (*Machine, error) {
	if config.MemoryMB == 0 {
		config.MemoryMB = 512
	}
	if config.Processors == 0 {
		config.Processors = 1
	}
	tap, err := openTap(config.Tap, config.Host, config.MTU)
	if err != nil {
		return nil, err
	}
	// The process has the device from then on, and the device ends with it.
	defer tap.Close()
	m := &Machine{config: config}
	if m.qemu, err = startProcess(tap, qemuArgs(&config)); err != nil {
		return nil, err
	}
	if err := m.awaitAgent(ctx); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// tapFD is the number that the tap device's file has in the emulator.
const tapFD = 3

// qemuArgs is the command line of the emulator. The processor is emulated in
// software, because hardware support is missing wherever this host is a virtual
// machine itself.
func qemuArgs(c *Config) []string {
	return []string{
		"qemu-system-x86_64", "-accel", "tcg", "-cpu", "max", "-smp", strconv.Itoa(c.Processors), "-m", strconv.Itoa(c.MemoryMB),
		"-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-serial", "stdio", "-monitor", "none",
		"-netdev", "tap,id=net,fd=" + strconv.Itoa(tapFD),
		"-device", "virtio-net-pci,netdev=net,romfile=",
		"-kernel", filepath.Join(c.Dir, kernelFile), "-initrd", filepath.Join(c.Dir, imageFile),
		"-append", fmt.Sprintf("console=ttyS0 loglevel=5 panic=-1 guest.address=%s guest.mtu=%d", c.Guest, c.MTU),
	}
}

// agentAddress is where the machine's agent listens.
func (m *Machine) agentAddress() string {
	return net.JoinHostPort(m.config.Guest.Addr().String(), strconv.Itoa(agent.Port))
}

// awaitAgent waits until the machine runs commands.
func (m *Machine) awaitAgent(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, bootTime)
	defer cancel()
	for {
		attempt, stop := context.WithTimeout(ctx, time.Second)
		_, err := agent.Run(attempt, m.agentAddress(), "/bin/busybox", "true")
		stop()
		if err == nil {
			return nil
		}
		select {
		case <-m.qemu.ended:
			return fmt.Errorf("%w: the emulator ended: %w\n%s", ErrBoot, m.qemu.err, m.Console())
		case <-ctx.Done():
			return fmt.Errorf("%w: %w\n%s", ErrBoot, err, m.Console())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Start starts a command in the machine; it ends with ctx.
func (m *Machine) Start(ctx context.Context, args ...string) (*agent.Command, error) {
	return agent.Start(ctx, m.agentAddress(), args...)
}

// Run runs a command in the machine and returns what it printed. Another status
// than zero is an *agent.ExitError.
func (m *Machine) Run(ctx context.Context, args ...string) (string, error) {
	return agent.Run(ctx, m.agentAddress(), args...)
}

// Console is what the machine has printed, its kernel's complaints among it.
func (m *Machine) Console() string { return m.qemu.output.String() }

// Close shuts the machine down. Its network interface here is gone with it.
func (m *Machine) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
	// The connection breaks when the machine is off, so there is no reply.
	_, _ = m.Run(ctx, "/bin/busybox", "poweroff", "-f")
	select {
	case <-m.qemu.ended:
	case <-ctx.Done():
		m.qemu.kill()
	}
}
