package udp

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ecnMask selects the ECN bits of an IPv4 TOS byte or an IPv6 traffic class.
const ecnMask = 3

// controlInfo is what the kernel says about a received message beside its bytes.
type controlInfo struct {
	segment     int    // UDP_GRO's packet size, or 0 for a single packet
	overflow    uint32 // SO_RXQ_OVFL's counter, when hasOverflow
	hasOverflow bool
	ecn         byte
	stamp       int64 // SO_TIMESTAMPNS's time, in nanoseconds since 1970, or 0
}

// parseControl reads the control messages of one received message. It skips those
// that it does not know, and stops at one whose length makes no sense.
func parseControl(control []byte) (info controlInfo) {
	for len(control) >= unix.SizeofCmsghdr {
		header := (*unix.Cmsghdr)(unsafe.Pointer(&control[0]))
		// The bounds are checked before the conversion, so that a wild length cannot wrap.
		if length := uint64(header.Len); length < uint64(unix.CmsgLen(0)) || length > uint64(len(control)) { //nolint:unconvert // narrower on 32-bit systems
			return info
		}
		length := int(header.Len)
		info.add(header.Level, header.Type, control[unix.CmsgLen(0):length])
		next := unix.CmsgSpace(length - unix.CmsgLen(0))
		if next >= len(control) {
			return info
		}
		control = control[next:]
	}
	return info
}

// add takes in one control message.
func (c *controlInfo) add(level, kind int32, data []byte) {
	switch {
	case level == unix.IPPROTO_UDP && kind == unix.UDP_GRO && len(data) >= 4:
		c.segment = int(int32(binary.NativeEndian.Uint32(data)))
	case level == unix.IPPROTO_IP && kind == unix.IP_TOS && len(data) >= 1:
		c.ecn = data[0] & ecnMask
	case level == unix.IPPROTO_IPV6 && kind == unix.IPV6_TCLASS && len(data) >= 4:
		c.ecn = byte(binary.NativeEndian.Uint32(data)) & ecnMask
	case level == unix.SOL_SOCKET && kind == unix.SO_RXQ_OVFL && len(data) >= 4:
		c.overflow = binary.NativeEndian.Uint32(data)
		c.hasOverflow = true
	case level == unix.SOL_SOCKET && kind == unix.SO_TIMESTAMPNS && len(data) >= 16:
		c.stamp = int64(binary.NativeEndian.Uint64(data))*1e9 + int64(binary.NativeEndian.Uint64(data[8:]))
	}
}
