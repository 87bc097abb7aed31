package pcapng

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

const (
	ipv4Len = 20
	ipv6Len = 40
	udpLen  = 8

	protocolUDP      = 17
	timeToLive       = 64
	ipv4DontFragment = 0x4000
)

// Datagram describes the headers around a UDP payload. What it does not name is
// what a Linux sender of unfragmented packets chooses: DF set, a time to live
// of 64, no options, no flow label.
type Datagram struct {
	Src, Dst netip.AddrPort
	TOS      byte   // DSCP and ECN: IPv4's type of service, IPv6's traffic class
	ID       uint16 // IPv4's identification
}

// Append writes the IP and UDP headers and the payload, which may be in pieces,
// after b. Over IPv4 the UDP checksum is 0, which says that there is none; IPv6
// demands one.
func (d *Datagram) Append(b []byte, payload ...[]byte) ([]byte, error) {
	src, dst := d.Src.Addr().Unmap(), d.Dst.Addr().Unmap()
	if !src.IsValid() || !dst.IsValid() || src.Is4() != dst.Is4() {
		return b, fmt.Errorf("pcapng: %w: %v and %v", ErrFamily, d.Src, d.Dst)
	}
	length := udpLen
	for _, piece := range payload {
		length += len(piece)
	}
	limit := 0xffff
	if src.Is4() {
		limit -= ipv4Len // its length field counts the header too
	}
	if length > limit {
		return b, fmt.Errorf("pcapng: %w: a datagram of %d bytes, the limit is %d", ErrTooLong, length, limit)
	}
	if src.Is4() {
		b = d.appendIPv4(b, src.As4(), dst.As4(), length)
	} else {
		b = d.appendIPv6(b, src.As16(), dst.As16(), length)
	}
	udp := len(b)
	b = binary.BigEndian.AppendUint16(b, d.Src.Port())
	b = binary.BigEndian.AppendUint16(b, d.Dst.Port())
	b = binary.BigEndian.AppendUint16(b, uint16(length))
	b = append(b, 0, 0)
	for _, piece := range payload {
		b = append(b, piece...)
	}
	if !src.Is4() {
		// The two addresses are the last 32 bytes before the UDP header.
		binary.BigEndian.PutUint16(b[udp+6:], udpChecksum(b[udp-32:], length))
	}
	return b, nil
}

// appendIPv4 writes the header of a packet that carries length bytes.
func (d *Datagram) appendIPv4(b []byte, src, dst [4]byte, length int) []byte {
	start := len(b)
	b = append(b, 0x45, d.TOS) // version 4, five words
	b = binary.BigEndian.AppendUint16(b, uint16(ipv4Len+length))
	b = binary.BigEndian.AppendUint16(b, d.ID)
	b = binary.BigEndian.AppendUint16(b, ipv4DontFragment)
	b = append(b, timeToLive, protocolUDP, 0, 0)
	b = append(b, src[:]...)
	b = append(b, dst[:]...)
	binary.BigEndian.PutUint16(b[start+10:], ^fold(sumWords(0, b[start:])))
	return b
}

// appendIPv6 writes the header of a packet that carries length bytes.
func (d *Datagram) appendIPv6(b []byte, src, dst [16]byte, length int) []byte {
	b = append(b, 0x60|d.TOS>>4, d.TOS<<4, 0, 0) // version 6, traffic class, no flow label
	b = binary.BigEndian.AppendUint16(b, uint16(length))
	b = append(b, protocolUDP, timeToLive)
	b = append(b, src[:]...)
	return append(b, dst[:]...)
}

// udpChecksum is the checksum over the pseudo header and the datagram.
// addressed are the two addresses and the datagram, whose checksum is still 0.
func udpChecksum(addressed []byte, length int) uint16 {
	sum := ^fold(sumWords(uint64(length)+protocolUDP, addressed))
	if sum == 0 {
		return 0xffff // 0 would say that there is no checksum
	}
	return sum
}

// sumWords adds the 16-bit words of b to sum; an odd last byte counts as if a
// zero followed.
func sumWords(sum uint64, b []byte) uint64 {
	for ; len(b) >= 2; b = b[2:] {
		sum += uint64(binary.BigEndian.Uint16(b))
	}
	if len(b) == 1 {
		sum += uint64(b[0]) << 8
	}
	return sum
}

// fold brings a sum to 16 bits by adding the carries.
func fold(sum uint64) uint16 {
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	return uint16(sum)
}
