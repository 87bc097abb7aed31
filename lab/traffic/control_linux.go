package traffic

import "golang.org/x/sys/unix"

// setCongestionControl chooses a socket's congestion control.
func setCongestionControl(fd int, name string) error {
	return unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, name)
}
