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

	// portTries is how many ports in a row may be in use before a socket is given up:
	// ports in use rarely come in long runs.
	portTries = 48
)

// txOptions tunes sending sockets; the zero value is the default.
type txOptions struct {
	dscp   byte // six bits: the traffic class that switches see
	ecn    byte // two bits; 0 means ECT(0), because RoCEv2 without ECN is not offered
	sndbuf int  // bytes of socket buffer to ask for, default 4 MiB
	noGSO  bool // leave UDP_SEGMENT off, as on a kernel that lacks it
}

// txSocket sends from one source port, which is one way through the network. It stays unconnected,
// because then the kernel gives IP id 0 to the first packet of a message and i to
// segment i, which the ICRC has to cover.
type txSocket struct {
	fd      int
	source  int // the first source port of the pool that it serves
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

// txPool is the pool of source ports: socket i sends from source port i. A socket
// is opened when the first packet wants its port, so that a device which has many to
// choose from (MP-RDMA §3.5) pays for those that it uses.
type txPool struct {
	sockets  []*txSocket // by source port; nil: not used yet
	opened   []*txSocket // each once, in the order in which they were opened
	addr     netip.Addr
	nextPort uint16 // the next to try; 0: the kernel's choice
	limit    int    // sockets to open at most
	opt      txOptions
	shared   uint64 // source ports that could not be opened, and share another's socket
	lastErr  error  // why
}

// openTxPool makes a pool of so many source ports at addr: consecutive ones from
// firstPort on, skipping those in use, or ports of the kernel's choice when firstPort
// is 0. It opens the first of them, and fails if there is none.
func openTxPool(addr netip.Addr, firstPort uint16, sources int, opt txOptions) (*txPool, error) {
	if sources < 1 || sources > maxSources {
		return nil, fmt.Errorf("udp: %d source ports were asked for: choose 1 to %d", sources, maxSources)
	}
	p := &txPool{sockets: make([]*txSocket, sources), addr: addr, nextPort: firstPort, limit: fileShare(), opt: opt}
	if p.socket(0) == nil {
		return nil, fmt.Errorf("udp: none of %d source ports could be opened: %w", sources, p.lastErr)
	}
	return p, nil
}

// fileShare is how many sockets a pool may have: a quarter of the files of the
// process, since the program and other devices need some too.
func fileShare() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur > 4*maxSources {
		return maxSources
	}
	return max(1, int(limit.Cur/4))
}

// errFileShare is why a pool opens no further socket.
var errFileShare = errors.New("udp: the source ports have their share of the open files of this process (ulimit -n)")

// socket returns the socket of a source port and opens it before its first use. A
// port that cannot be opened shares the socket of one that was: the connection then
// has a path less, and nothing fails. It returns nil only if there is no socket at all.
func (p *txPool) socket(source int) *txSocket {
	if s := p.sockets[source]; s != nil {
		return s
	}
	s, err := p.open()
	switch {
	case err == nil:
		s.source = source
		p.opened = append(p.opened, s)
	case len(p.opened) == 0:
		p.lastErr = err
		return nil
	default:
		s = p.opened[source%len(p.opened)]
		p.shared++
		p.lastErr = err
	}
	p.sockets[source] = s
	return s
}

// open opens one more socket.
func (p *txPool) open() (*txSocket, error) {
	if len(p.opened) >= p.limit {
		return nil, errFileShare
	}
	if p.nextPort == 0 {
		return openTx(netip.AddrPortFrom(p.addr, 0), p.opt)
	}
	var failed error
	for range portTries {
		s, err := openTx(netip.AddrPortFrom(p.addr, p.nextPort), p.opt)
		if err != nil && !errors.Is(err, ErrPortInUse) && !errors.Is(err, ErrPermission) {
			return nil, err // another port would fail in the same way
		}
		if p.nextPort < 0xffff {
			p.nextPort++
		}
		if err == nil {
			return s, nil
		}
		failed = err
	}
	return nil, failed
}

// close closes all sockets.
func (p *txPool) close() error {
	var errs []error
	for _, socket := range p.opened {
		errs = append(errs, socket.close())
	}
	return errors.Join(errs...)
}
