package machine

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// hostPrograms are what the host needs, with the Debian packages that have them.
var hostPrograms = []struct{ program, pkg string }{
	{"qemu-system-x86_64", "qemu-system-x86"},
	{"ip", "iproute2"},
	{"apt-get", "apt"},
	{"dpkg-deb", "dpkg"},
}

// Requirements tells, by name, what this host lacks to run the machine with
// programs in it; nil means that Boot can be tried.
func Requirements(programs ...string) error {
	if runtime.GOARCH != "amd64" {
		return fmt.Errorf("%w: the machine is made of this host's programs, which must be amd64", ErrUnavailable)
	}
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w: not root, so no tap device can be made", ErrUnavailable)
	}
	var missing []string
	for _, p := range hostPrograms {
		if _, err := exec.LookPath(p.program); err != nil {
			missing = append(missing, fmt.Sprintf("%s (Debian: %s)", p.program, p.pkg))
		}
	}
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			missing = append(missing, program)
		}
	}
	if missing != nil {
		return fmt.Errorf("%w: missing: %s", ErrUnavailable, strings.Join(missing, ", "))
	}
	if _, err := os.Stat("/dev/net/tun"); err != nil {
		return fmt.Errorf("%w: no tap devices: %w", ErrUnavailable, err)
	}
	return nil
}
