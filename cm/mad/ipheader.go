package mad

import (
	"encoding/binary"
	"net/netip"
)

// IPHeaderLen is the part of a REQ's private data that the RDMA CM uses for
// addresses; what follows belongs to the program.
const IPHeaderLen = 36

// IPHeader are the addresses of a connection as the RDMA CM sees it: programs
// name each other by IP address and port, and so does the first message.
type IPHeader struct {
	SrcPort  uint16
	Src, Dst netip.Addr
}

// ParseIPHeader reads the header at the start of a REQ's private data.
func ParseIPHeader(b []byte) (h IPHeader, rest []byte, err error) {
	// The first byte is the header's version, zero; the upper half of the second
	// is that of IP.
	if len(b) < IPHeaderLen || b[0] != 0 {
		return IPHeader{}, nil, ErrIPHeader
	}
	switch b[1] >> 4 {
	case 4:
		h.Src = netip.AddrFrom4([4]byte(b[16:20]))
		h.Dst = netip.AddrFrom4([4]byte(b[32:36]))
	case 6:
		h.Src = netip.AddrFrom16([16]byte(b[4:20]))
		h.Dst = netip.AddrFrom16([16]byte(b[20:36]))
	default:
		return IPHeader{}, nil, ErrIPHeader
	}
	h.SrcPort = binary.BigEndian.Uint16(b[2:])
	return h, b[IPHeaderLen:], nil
}

// Append writes the header after b: as IPv4 if both addresses are, else as
// IPv6. An address that is not valid is written as zeros.
func (h IPHeader) Append(b []byte) []byte {
	var d [IPHeaderLen]byte
	binary.BigEndian.PutUint16(d[2:], h.SrcPort)
	src, dst := h.Src.Unmap(), h.Dst.Unmap()
	d[1] = 6 << 4
	if src.Is4() && dst.Is4() {
		// An IPv4 address takes the last four of sixteen bytes.
		d[1] = 4 << 4
		copy(d[16:20], src.AsSlice())
		copy(d[32:36], dst.AsSlice())
		return append(b, d[:]...)
	}
	srcGID, dstGID := GID(src), GID(dst)
	copy(d[4:20], srcGID[:])
	copy(d[20:36], dstGID[:])
	return append(b, d[:]...)
}

// GID is the address of a RoCE port that has an IP address: an IPv4 address
// is mapped into IPv6. That of no address is zero.
func GID(a netip.Addr) [16]byte {
	if !a.IsValid() {
		return [16]byte{}
	}
	return a.As16()
}
