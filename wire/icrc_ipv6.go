package wire

import "encoding/binary"

// ICRCPrefix6 returns the state before BTH of a packet in IPv6 with no
// extension headers. udpPayloadLen counts from BTH to the ICRC, both included.
// Traffic class, flow label, hop limit and the UDP checksum are masked; payload
// length, next header and addresses are covered.
func ICRCPrefix6(src, dst [16]byte, sport, dport uint16, udpPayloadLen int) ICRC {
	var b [lrhLen + ipv6Len + udpLen]byte
	putOnes(b[:lrhLen])
	ip := b[lrhLen : lrhLen+ipv6Len]
	binary.BigEndian.PutUint32(ip[0:], 0x6fffffff) // version 6, traffic class, flow label
	binary.BigEndian.PutUint16(ip[4:], uint16(udpLen+udpPayloadLen))
	ip[6] = ipProtocolUDP
	ip[7] = 0xff // hop limit
	copy(ip[8:24], src[:])
	copy(ip[24:40], dst[:])
	putMaskedUDP(b[lrhLen+ipv6Len:], sport, dport, udpPayloadLen)
	return ICRC(crcShort(0, b[:]))
}
