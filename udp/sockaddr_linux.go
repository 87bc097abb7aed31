package udp

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// destination is a peer's address in the form that the kernel reads. It is made
// once per peer and then only pointed at, so that sending converts nothing. Two
// packets can share a segmented message exactly when they have the same *destination.
type destination struct {
	raw    unix.RawSockaddrInet6 // storage for either family: the IPv4 form is shorter
	size   uint32                // bytes of raw that are in use
	addr   netip.AddrPort
	source sourceControl // of a socket that is bound to no address
}

// newDestination converts addr. It fails for an invalid address and for a zone
// that names no interface.
func newDestination(addr netip.AddrPort) (*destination, error) {
	addr = netip.AddrPortFrom(addr.Addr().Unmap(), addr.Port())
	dst := &destination{addr: addr}
	size, err := encodeSockaddr(&dst.raw, addr)
	if err != nil {
		return nil, err
	}
	dst.size = size
	return dst, nil
}

// destinationFrom is the destination of packets from an address of ours to a peer.
func (e *engine) destinationFrom(at *address, peer netip.Addr) (*destination, error) {
	dst, err := newDestination(netip.AddrPortFrom(peer, e.cfg.Port))
	if err != nil || !e.anywhere() {
		return dst, err
	}
	if peer.Is4() && e.pool.sockets[0].local.Addr().Is6() {
		dst.mapIPv4()
	}
	dst.source.set(at.ip)
	return dst, nil
}

// mapIPv4 makes the form of an IPv4 address that a socket of both families takes.
func (d *destination) mapIPv4() {
	d.raw = unix.RawSockaddrInet6{
		Family: unix.AF_INET6, Port: networkOrder(d.addr.Port()), Addr: d.addr.Addr().As16(),
	}
	d.size = unix.SizeofSockaddrInet6
}

// sourceControl is the control message that gives a packet its source address
// (IP_PKTINFO, IPV6_PKTINFO), which the ICRC covers. It ends at the end of bytes, so
// that another control message can follow it in memory.
type sourceControl struct {
	bytes  [sourceRoom]byte
	length int // 0: the socket is bound to the address
}

// sourceRoom is what the longer of the two takes.
const sourceRoom = 40

// set fills in the message.
func (s *sourceControl) set(ip netip.Addr) {
	if ip.Is4() {
		info := unix.Inet4Pktinfo{Spec_dst: ip.As4()}
		s.fill(unix.IPPROTO_IP, unix.IP_PKTINFO, unsafe.Slice((*byte)(unsafe.Pointer(&info)), unix.SizeofInet4Pktinfo))
		return
	}
	info := unix.Inet6Pktinfo{Addr: ip.As16()} // the interface is the destination's
	s.fill(unix.IPPROTO_IPV6, unix.IPV6_PKTINFO, unsafe.Slice((*byte)(unsafe.Pointer(&info)), unix.SizeofInet6Pktinfo))
}

func (s *sourceControl) fill(level, kind int32, data []byte) {
	s.length = unix.CmsgSpace(len(data))
	start := s.bytes[sourceRoom-s.length:]
	header := (*unix.Cmsghdr)(unsafe.Pointer(&start[0]))
	header.Level, header.Type = level, kind
	header.SetLen(unix.CmsgLen(len(data)))
	copy(start[unix.CmsgLen(0):], data)
}

// encodeSockaddr writes addr into raw and returns the number of bytes that count.
func encodeSockaddr(raw *unix.RawSockaddrInet6, addr netip.AddrPort) (uint32, error) {
	ip := addr.Addr()
	switch {
	case ip.Is4():
		v4 := (*unix.RawSockaddrInet4)(unsafe.Pointer(raw))
		v4.Family = unix.AF_INET
		v4.Port = networkOrder(addr.Port())
		v4.Addr = ip.As4()
		return unix.SizeofSockaddrInet4, nil
	case ip.Is6():
		scope, err := scopeOf(ip.Zone())
		if err != nil {
			return 0, err
		}
		raw.Family = unix.AF_INET6
		raw.Port = networkOrder(addr.Port())
		raw.Addr = ip.As16()
		raw.Scope_id = scope
		return unix.SizeofSockaddrInet6, nil
	}
	return 0, fmt.Errorf("udp: %w: the address %v is neither IPv4 nor IPv6", ErrNoAddress, addr)
}

// decodeSockaddr reads an address that the kernel wrote. An unknown family, which
// an IP socket never reports, gives the zero AddrPort.
func decodeSockaddr(raw *unix.RawSockaddrInet6) netip.AddrPort {
	switch raw.Family {
	case unix.AF_INET:
		v4 := (*unix.RawSockaddrInet4)(unsafe.Pointer(raw))
		return netip.AddrPortFrom(netip.AddrFrom4(v4.Addr), networkOrder(v4.Port))
	case unix.AF_INET6:
		ip := netip.AddrFrom16(raw.Addr)
		if raw.Scope_id != 0 {
			// The number is kept as the zone: looking up the interface's name would
			// cost system calls on the receive path, and it converts back just as well.
			ip = ip.WithZone(strconv.FormatUint(uint64(raw.Scope_id), 10))
		}
		return netip.AddrPortFrom(ip, networkOrder(raw.Port))
	}
	return netip.AddrPort{}
}

// networkOrder converts a port between the host's byte order and big endian; the
// conversion is its own inverse.
func networkOrder(port uint16) uint16 {
	bytes := (*[2]byte)(unsafe.Pointer(&port))
	return uint16(bytes[0])<<8 | uint16(bytes[1])
}

// scopeOf returns the interface index that a zone stands for: a number, or a name.
func scopeOf(zone string) (uint32, error) {
	if zone == "" {
		return 0, nil
	}
	if index, err := strconv.ParseUint(zone, 10, 32); err == nil {
		return uint32(index), nil
	}
	ifi, err := net.InterfaceByName(zone)
	if err != nil {
		return 0, fmt.Errorf("udp: %w: no interface is called %q: %w", ErrNoAddress, zone, err)
	}
	return uint32(ifi.Index), nil
}

// sockaddrOf converts addr to the form that unix.Bind takes.
func sockaddrOf(addr netip.AddrPort) (unix.Sockaddr, error) {
	ip := addr.Addr()
	if ip.Is4() {
		return &unix.SockaddrInet4{Port: int(addr.Port()), Addr: ip.As4()}, nil
	}
	scope, err := scopeOf(ip.Zone())
	if err != nil {
		return nil, err
	}
	return &unix.SockaddrInet6{Port: int(addr.Port()), Addr: ip.As16(), ZoneId: scope}, nil
}
