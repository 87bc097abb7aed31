package udp

import (
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

const (
	// ecnECT0 marks packets as ECN-capable, so that switches mark instead of dropping.
	ecnECT0 = 2

	defaultTxBuffer = 4 << 20

	// maxPaths bounds a pool: each path costs a file descriptor.
	maxPaths = 1024
)

// txOptions tunes sending sockets; the zero value is the default.
type txOptions struct {
	dscp   byte // six bits: the traffic class that switches see
	ecn    byte // two bits; 0 means ECT(0), because RoCEv2 without ECN is not offered
	sndbuf int  // bytes of socket buffer to ask for, default 4 MiB
	noGSO  bool // leave UDP_SEGMENT off, as on a kernel that lacks it
}

// txSocket sends from one source port, which is one path. It stays unconnected,
// because then the kernel gives IP id 0 to the first packet of a message and i to
// segment i, which the ICRC has to cover.
type txSocket struct {
	fd      int
	local   netip.AddrPort
	gso     bool // the kernel and, as far as known, the device accept UDP_SEGMENT
	blocked bool // the last flush met a full socket buffer: wait for POLLOUT
	stats   txStats
}

// openTx opens a sending socket at addr; port 0 lets the kernel choose one.
func openTx(addr netip.AddrPort, opt txOptions) (*txSocket, error) {
	addr = netip.AddrPortFrom(addr.Addr().Unmap(), addr.Port())
	fd, err := openSocket(addr, txSocketOptions(addr.Addr(), opt)...)
	if err != nil {
		return nil, err
	}
	s := &txSocket{fd: fd}
	if s.local, err = localAddr(fd); err != nil {
		_ = s.close()
		return nil, err
	}
	if opt.sndbuf <= 0 {
		opt.sndbuf = defaultTxBuffer
	}
	if _, err = setBuffer(fd, unix.SO_SNDBUF, unix.SO_SNDBUFFORCE, opt.sndbuf); err != nil {
		_ = s.close()
		return nil, err
	}
	// Size 0 asks for nothing, but a kernel that does not know the option refuses it.
	s.gso = !opt.noGSO && unix.SetsockoptInt(fd, unix.IPPROTO_UDP, unix.UDP_SEGMENT, 0) == nil
	return s, nil
}

// txSocketOptions lists the options that every sending socket must have.
//
// Without IP_RECVERR the kernel hides two things: that a queue of the device was full
// (it drops the packet and reports success), and ICMP errors of an unconnected socket.
func txSocketOptions(ip netip.Addr, opt txOptions) []option {
	ecn := opt.ecn & ecnMask
	if ecn == 0 {
		ecn = ecnECT0
	}
	class := int(opt.dscp<<2 | ecn)
	if ip.Is4() {
		return []option{
			{unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_DO},
			{unix.IPPROTO_IP, unix.IP_TOS, class},
			{unix.IPPROTO_IP, unix.IP_RECVERR, 1},
		}
	}
	six := []option{
		{unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1},
		{unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_DO},
		{unix.IPPROTO_IPV6, unix.IPV6_TCLASS, class},
		{unix.IPPROTO_IPV6, unix.IPV6_RECVERR, 1},
	}
	if !ip.IsUnspecified() {
		return six
	}
	// Bound to no address, the socket sends packets of both families.
	six[0].value = 0
	return append(six, txSocketOptions(netip.IPv4Unspecified(), opt)...)
}

// close closes the socket; a second close does nothing.
func (s *txSocket) close() error {
	if s.fd < 0 {
		return nil
	}
	fd := s.fd
	s.fd = -1
	if err := unix.Close(fd); err != nil {
		return fmt.Errorf("udp: close the sending socket of port %d: %w", s.local.Port(), err)
	}
	return nil
}

// txPool is the pool of source ports that serve as paths: socket i is path i.
type txPool struct {
	sockets []*txSocket
	wanted  int
	skipped []error // why ports could not be opened, one error for each try that failed
}

// openTxPool opens up to paths sockets at addr, on consecutive ports from firstPort
// on, or on ports of the kernel's choice when firstPort is 0. Ports that are in use
// are skipped. Whatever else stops it, the pool works with the paths it has, as long
// as there is one; shortfall tells what is missing.
func openTxPool(addr netip.Addr, firstPort uint16, paths int, opt txOptions) (*txPool, error) {
	if paths < 1 || paths > maxPaths {
		return nil, fmt.Errorf("udp: %d paths were asked for: choose 1 to %d", paths, maxPaths)
	}
	pool := &txPool{wanted: paths}
	port := int(firstPort)
	// Twice as many tries as paths, and a few: ports in use rarely come in long runs.
	for try := 0; try < 2*paths+16 && len(pool.sockets) < paths && port <= 0xffff; try++ {
		socket, err := openTx(netip.AddrPortFrom(addr, uint16(port)), opt)
		if firstPort != 0 {
			port++
		}
		if err == nil {
			pool.sockets = append(pool.sockets, socket)
			continue
		}
		pool.skipped = append(pool.skipped, err)
		if !errors.Is(err, ErrPortInUse) && !errors.Is(err, ErrPermission) {
			break // another port would fail in the same way
		}
	}
	if len(pool.sockets) == 0 {
		return nil, fmt.Errorf("udp: none of %d paths could be opened: %w", paths, errors.Join(pool.skipped...))
	}
	return pool, nil
}

// shortfall returns nil when the pool has all the paths that were wanted, and an
// error with the number and the reasons otherwise.
func (p *txPool) shortfall() error {
	if len(p.sockets) == p.wanted {
		return nil
	}
	return fmt.Errorf("udp: only %d of %d paths could be opened: %w", len(p.sockets), p.wanted, errors.Join(p.skipped...))
}

// close closes all sockets.
func (p *txPool) close() error {
	var errs []error
	for _, socket := range p.sockets {
		errs = append(errs, socket.close())
	}
	return errors.Join(errs...)
}
