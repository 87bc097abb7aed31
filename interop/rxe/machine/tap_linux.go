package machine

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// tapQueue is how many packets wait for the machine at most. It is slow, and what
// does not fit is lost: here only what a test drops on purpose is to be.
const tapQueue = 20000

// openTap makes a tap device with an address. It lives as long as its file is
// open in some process.
func openTap(name string, address netip.Prefix, mtu int) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: /dev/net/tun: %w", ErrUnavailable, err)
	}
	tap := os.NewFile(uintptr(fd), "/dev/net/tun")
	request, err := unix.NewIfreq(name)
	if err != nil {
		tap.Close()
		return nil, fmt.Errorf("machine: interface %q: %w", name, err)
	}
	request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		tap.Close()
		return nil, fmt.Errorf("%w: a tap device: %w", ErrUnavailable, err)
	}
	for _, line := range []string{
		"link set lo up",
		"address add " + address.String() + " dev " + name,
		"link set " + name + " mtu " + strconv.Itoa(mtu) + " txqueuelen " + strconv.Itoa(tapQueue) + " up",
	} {
		if output, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
			tap.Close()
			return nil, fmt.Errorf("machine: ip %s: %w: %s", line, err, output)
		}
	}
	return tap, nil
}
