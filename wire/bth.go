package wire

import (
	"encoding/binary"
	"slices"
)

// DefaultPKey is the partition key of the default partition with full
// membership, the only one RoCEv2 networks commonly have.
const DefaultPKey = 0xffff

// BTH is the base transport header, the first of every packet.
type BTH struct {
	Opcode    Opcode
	Solicited bool  // the receiver raises a solicited event on completion
	MigReq    bool  // path migration state; a standard sender sets it
	Pad       uint8 // 0..3 bytes that bring the payload to a multiple of four
	TVer      uint8 // transport header version, 0
	PKey      uint16
	FECN      bool // congestion seen on the way here
	BECN      bool // congestion seen on the way back
	DestQP    QPN
	AckReq    bool
	PSN       PSN
}

// Bits of bytes 1, 4 and 8.
const (
	bthSolicited = 0x80
	bthMigReq    = 0x40
	bthPadShift  = 4
	bthPadMask   = 0x03
	bthTVerMask  = 0x0f
	bthFECN      = 0x80
	bthBECN      = 0x40
	bthAckReq    = 0x80
)

// Append writes the header after b.
func (h BTH) Append(b []byte) []byte {
	b, space := extend(b, BTHLen)
	h.put(space)
	return b
}

func (h *BTH) load(b []byte) {
	_ = b[BTHLen-1]
	h.Opcode = Opcode(b[0])
	h.Solicited = b[1]&bthSolicited != 0
	h.MigReq = b[1]&bthMigReq != 0
	h.Pad = b[1] >> bthPadShift & bthPadMask
	h.TVer = b[1] & bthTVerMask
	h.PKey = binary.BigEndian.Uint16(b[2:])
	h.FECN = b[4]&bthFECN != 0
	h.BECN = b[4]&bthBECN != 0
	h.DestQP = QPN(binary.BigEndian.Uint32(b[4:]) & mask24)
	h.AckReq = b[8]&bthAckReq != 0
	h.PSN = PSN(binary.BigEndian.Uint32(b[8:]) & mask24)
}

func (h *BTH) put(b []byte) {
	_ = b[BTHLen-1]
	b[0] = byte(h.Opcode)
	b[1] = flag(h.Solicited, bthSolicited) | flag(h.MigReq, bthMigReq) |
		h.Pad&bthPadMask<<bthPadShift | h.TVer&bthTVerMask
	binary.BigEndian.PutUint16(b[2:], h.PKey)
	binary.BigEndian.PutUint32(b[4:], uint32(h.DestQP)&mask24)
	b[4] = flag(h.FECN, bthFECN) | flag(h.BECN, bthBECN)
	binary.BigEndian.PutUint32(b[8:], uint32(h.PSN)&mask24)
	b[8] = flag(h.AckReq, bthAckReq)
}

// PadLen returns the pad that brings n bytes of payload to a multiple of four.
func PadLen(n int) uint8 {
	return uint8(-n) & bthPadMask
}

// flag returns bit if on, else 0.
func flag(on bool, bit byte) byte {
	if on {
		return bit
	}
	return 0
}

// extend lengthens b by n bytes and also returns those n, whose content is
// whatever the memory held: the caller writes every one of them.
func extend(b []byte, n int) (longer, space []byte) {
	end := len(b) + n
	b = slices.Grow(b, n)[:end]
	return b, b[end-n:]
}
