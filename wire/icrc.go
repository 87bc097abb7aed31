package wire

import "encoding/binary"

// ICRC is the state of the invariant CRC part-way through a packet. It covers
// everything that no switch or router may change, from the IP header to the
// pad; fields that may change on the way count as ones. The states of one
// 5-tuple and packet length all start with the same prefix, so a sender of
// equal packets computes [ICRCPrefix4] or [ICRCPrefix6] once and goes on from
// it for each packet.
//
// The specification bases it on a local route header, which RoCEv2 lacks and
// which therefore counts as eight bytes of ones.
type ICRC uint32

const (
	lrhLen  = 8
	ipv4Len = 20
	ipv6Len = 40
	udpLen  = 8

	ipProtocolUDP    = 17
	ipv4DontFragment = 0x4000
)

// MPIdentification stands for the IPv4 identification in the ICRC of every
// multi-path packet: the field counts as masked. Segmentation offload numbers
// packets where the sender cannot see it, and a UDP socket does not show the
// number to the receiver, so covering it would protect nothing.
const MPIdentification = 0xffff

// ICRCPrefix4 returns the state before BTH of a packet in IPv4 with no options
// and with DF set. udpPayloadLen counts from BTH to the ICRC, both included.
// Type of service, time to live and both checksums are masked; total length,
// identification (ipID) and flags are covered. For MP, ipID is
// [MPIdentification].
func ICRCPrefix4(src, dst [4]byte, sport, dport uint16, udpPayloadLen int, ipID uint16) ICRC {
	var b [lrhLen + ipv4Len + udpLen]byte
	putOnes(b[:lrhLen])
	ip := b[lrhLen : lrhLen+ipv4Len]
	ip[0] = 0x45 // version 4, five words
	ip[1] = 0xff // type of service
	binary.BigEndian.PutUint16(ip[2:], uint16(ipv4Len+udpLen+udpPayloadLen))
	binary.BigEndian.PutUint16(ip[4:], ipID)
	binary.BigEndian.PutUint16(ip[6:], ipv4DontFragment)
	ip[8] = 0xff // time to live
	ip[9] = ipProtocolUDP
	binary.BigEndian.PutUint16(ip[10:], 0xffff) // header checksum
	copy(ip[12:16], src[:])
	copy(ip[16:20], dst[:])
	putMaskedUDP(b[lrhLen+ipv4Len:], sport, dport, udpPayloadLen)
	return ICRC(crcShort(0, b[:]))
}

// putMaskedUDP writes the UDP header as the ICRC sees it.
func putMaskedUDP(b []byte, sport, dport uint16, udpPayloadLen int) {
	binary.BigEndian.PutUint16(b[0:], sport)
	binary.BigEndian.PutUint16(b[2:], dport)
	binary.BigEndian.PutUint16(b[4:], uint16(udpLen+udpPayloadLen))
	binary.BigEndian.PutUint16(b[6:], 0xffff) // checksum
}

func putOnes(b []byte) {
	for i := range b {
		b[i] = 0xff
	}
}

// bthMaskedByte is the index in BTH of FECN, BECN and the reserved bits beside
// them, which switches may set.
const bthMaskedByte = 4

// bthMask is that byte in the first eight of BTH.
const bthMask = 0xff << (8 * bthMaskedByte)

// Headers returns the state after b, which starts with the whole of BTH and
// holds its extension headers too. It counts the byte of BTH that switches may
// change as ones.
func (c ICRC) Headers(b []byte) ICRC { return ICRC(crcMasked(uint32(c), b, bthMask)) }

// Whole returns the state after b, which holds BTH and all that follows it up
// to the ICRC in one piece, quicker than Headers and Payload would.
func (c ICRC) Whole(b []byte) ICRC { return ICRC(crcLong(uint32(c), b, bthMask)) }

// Payload returns the state after b: payload, pad, or both.
func (c ICRC) Payload(b []byte) ICRC { return ICRC(crcLong(uint32(c), b, 0)) }

// Sum returns the check value of what the state has seen.
func (c ICRC) Sum() uint32 { return uint32(c) }

// AppendICRC writes a check value after b, where it ends the packet.
func AppendICRC(b []byte, sum uint32) []byte {
	return binary.LittleEndian.AppendUint32(b, sum)
}

// ICRCAt returns the check value in the last [ICRCLen] bytes of b, a whole UDP
// payload. Fewer bytes hold none, and give 0; such a datagram cannot be parsed
// anyway.
func ICRCAt(b []byte) uint32 {
	if len(b) < ICRCLen {
		return 0
	}
	return binary.LittleEndian.Uint32(b[len(b)-ICRCLen:])
}
