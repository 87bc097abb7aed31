package udp

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"

	"golang.org/x/sys/unix"
)

// mmsghdr is the kernel's struct mmsghdr, which x/sys/unix does not define. Go
// aligns it to the pointer size, just as C does.
type mmsghdr struct {
	hdr    unix.Msghdr
	length uint32 // bytes received or sent; written by the kernel
}

// option is one integer socket option.
type option struct {
	level, name, value int
}

// openSocket returns a non-blocking UDP socket of addr's family, with the given
// options set, bound to addr. On failure nothing stays open.
func openSocket(addr netip.AddrPort, options ...option) (fd int, err error) {
	if !addr.Addr().IsValid() {
		return -1, fmt.Errorf("udp: %w: no address was given", ErrNoAddress)
	}
	family := unix.AF_INET
	if addr.Addr().Is6() {
		family = unix.AF_INET6
	}
	fd, err = unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.IPPROTO_UDP)
	if err != nil {
		return -1, explain("open a socket for", addr, err)
	}
	opened := fd // a failing return sets fd before the deferred call runs
	defer func() {
		if err != nil {
			_ = unix.Close(opened)
		}
	}()
	for _, o := range options {
		if err := unix.SetsockoptInt(fd, o.level, o.name, o.value); err != nil {
			return -1, explain(fmt.Sprintf("set option %d/%d of", o.level, o.name), addr, err)
		}
	}
	sockaddr, err := sockaddrOf(addr)
	if err != nil {
		return -1, err
	}
	if err := unix.Bind(fd, sockaddr); err != nil {
		return -1, explain("bind", addr, err)
	}
	return fd, nil
}

// localAddr asks the kernel for the address and port of a bound socket, because
// port 0 lets the kernel choose.
func localAddr(fd int) (netip.AddrPort, error) {
	sockaddr, err := unix.Getsockname(fd)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("udp: read the local address: %w", err)
	}
	switch sa := sockaddr.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port)), nil
	case *unix.SockaddrInet6:
		ip := netip.AddrFrom16(sa.Addr)
		if sa.ZoneId != 0 {
			ip = ip.WithZone(strconv.FormatUint(uint64(sa.ZoneId), 10))
		}
		return netip.AddrPortFrom(ip, uint16(sa.Port)), nil
	}
	return netip.AddrPort{}, fmt.Errorf("udp: the socket has the unexpected address %T", sockaddr)
}

// setBuffer asks for a socket buffer of size bytes and returns what the kernel
// gave, which is twice the grant because the kernel's own bookkeeping counts too.
// The forcing option passes the limits net.core.rmem_max and wmem_max, but needs
// CAP_NET_ADMIN; without it the limit applies, and the caller sees by how much.
func setBuffer(fd, plain, force, size int) (int, error) {
	if size > 0 {
		if unix.SetsockoptInt(fd, unix.SOL_SOCKET, force, size) != nil {
			if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, plain, size); err != nil {
				return 0, fmt.Errorf("udp: set the socket buffer to %d bytes: %w", size, err)
			}
		}
	}
	granted, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, plain)
	if err != nil {
		return 0, fmt.Errorf("udp: read the size of the socket buffer: %w", err)
	}
	return granted, nil
}

// explain turns the system's error about addr into one that says what to do.
func explain(action string, addr netip.AddrPort, err error) error {
	var errno unix.Errno
	if !errors.As(err, &errno) {
		return fmt.Errorf("udp: %s %v: %w", action, addr, err)
	}
	var kind error
	var hint string
	switch errno {
	case unix.EADDRINUSE:
		kind, hint = ErrPortInUse, "stop the other program (ss -ulpn shows it; rdma_rxe holds port 4791 too), or use another address of this host"
	case unix.ENETUNREACH, unix.EHOSTUNREACH:
		kind, hint = ErrNoRoute, "`ip route get` shows what is missing"
	case unix.EADDRNOTAVAIL:
		kind, hint = ErrNoAddress, "choose an address that `ip addr` lists and whose interface is up"
	case unix.EAFNOSUPPORT:
		kind, hint = ErrNoAddress, "this kernel lacks the address family; use the other one"
	case unix.EACCES, unix.EPERM:
		kind, hint = ErrPermission, "use a port of 1024 or above, or allow sockets in the sandbox of this process"
	case unix.EMFILE:
		kind, hint = ErrTooManyFiles, "raise `ulimit -n` or use fewer paths"
	case unix.ENFILE:
		kind, hint = ErrTooManyFiles, "the whole system is out of files: raise fs.file-max"
	default:
		return fmt.Errorf("udp: %s %v: %w", action, addr, err)
	}
	return fmt.Errorf("udp: %s %v: %w: %s (%w)", action, addr, kind, hint, errno)
}

// explainFile turns the error of a system call that needs a file for a moment, or for
// good, into one that says what to do when there is no file left.
func explainFile(action string, err error) error {
	if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) {
		return fmt.Errorf("udp: %s: %w: raise `ulimit -n` (%w)", action, ErrTooManyFiles, err)
	}
	return fmt.Errorf("udp: %s: %w", action, err)
}
