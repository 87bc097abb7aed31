package wire

import "math/bits"

// The ICRC of standard packets covers the IPv4 identification, which a UDP
// socket does not show. Two facts make such packets checkable all the same. A
// CRC is linear: another identification changes the check value by an amount
// that depends on nothing but the change and its distance from the end. And
// that change can be undone: shifted back by the distance, the difference
// between two check values is the identification itself, in 16 of 32 bits, if
// that is all they differ by. The other 16 bits still check the packet: of
// packets damaged at random one in 65536 passes.

// Bytes between the end of the identification and BTH.
const afterIdentification = ipv4Len - 6 + udpLen

// identificationDistance returns by how many bytes to shift an identification
// to make its share of the check value. A CRC appends as many zero bytes as it
// is long, so the ICRC itself counts.
func identificationDistance(udpPayloadLen int) uint16 {
	return uint16(afterIdentification + udpPayloadLen)
}

// ICRCIDDelta returns what to XOR to the ICRC of a packet with IPv4
// identification 0 to make it that of the same packet with identification id.
// udpPayloadLen is as in [ICRCPrefix4].
func ICRCIDDelta(udpPayloadLen int, id uint16) uint32 {
	// As a polynomial the field has degree below 16, which is the upper half of
	// a poly; the byte that is sent first holds the higher coefficients.
	change := poly(bits.ReverseBytes16(id)) << 16
	return uint32(change.times(bytesForward.of(identificationDistance(udpPayloadLen))))
}

// ICRCMatchID returns the IPv4 identification that explains a syndrome: the
// ICRC computed with identification 0, XOR the ICRC received. ok is false if
// none does, that is if the packet was damaged.
func ICRCMatchID(syndrome uint32, udpPayloadLen int) (id uint16, ok bool) {
	change := poly(syndrome).times(bytesBack.of(identificationDistance(udpPayloadLen)))
	return bits.ReverseBytes16(uint16(change >> 16)), uint16(change) == 0
}
