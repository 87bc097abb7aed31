package wire

import (
	"encoding/binary"
	"math/bits"
)

// MPAckBatchSpan is how many PSNs, from Base on, one MPAckBatch can cover.
const MPAckBatchSpan = 64

// MPAckBatch follows AETH on a batched multi-path acknowledgement. It stands
// for one MPAck per bit of Received: all those packets came by one path, and
// each keeps its own mark and retransmission echo, because congestion control
// and path selection count packets, not acknowledgements. Bit i, the least
// significant first, is PSN Base+i.
type MPAckBatch struct {
	Responses bool // as in MPAck
	Path      uint16
	Base      PSN    // the lowest PSN acknowledged here: bit 0 of Received is set
	AACK      PSN    // as in MPAck
	SentAt    uint32 // SentAt of the packet that arrived last
	Window    uint16 // as in MPAck
	Received  uint64
	Marked    uint64 // arrived with an ECN mark; a subset of Received
	ReTx      uint64 // were retransmissions; a subset of Received
}

// ParseMPAckBatch reads the header at the start of b.
func ParseMPAckBatch(b []byte) (h MPAckBatch, rest []byte, err error) {
	if len(b) < MPAckBatchLen {
		return MPAckBatch{}, nil, ErrTruncated
	}
	if err := h.load(b); err != nil {
		return MPAckBatch{}, nil, err
	}
	return h, b[MPAckBatchLen:], nil
}

// Append writes the header after b.
func (h MPAckBatch) Append(b []byte) []byte {
	b, space := extend(b, MPAckBatchLen)
	h.put(space)
	return b
}

// Count returns how many packets h acknowledges.
func (h *MPAckBatch) Count() int { return bits.OnesCount64(h.Received) }

// wellFormed reports whether the three maps agree. A batch has one encoding
// only, so bit 0 must be used; and a mark on a packet that never arrived could
// only mislead the sender's congestion control.
func (h *MPAckBatch) wellFormed() bool {
	return h.Received&1 != 0 && (h.Marked|h.ReTx)&^h.Received == 0
}

func (h *MPAckBatch) load(b []byte) error {
	_ = b[MPAckBatchLen-1]
	if b[0]&mpVersionMask != MPVersion {
		return ErrVersion
	}
	h.Responses = b[0]&mpBit5 != 0
	h.Path = binary.BigEndian.Uint16(b[2:])
	h.Base = PSN(binary.BigEndian.Uint32(b[4:]) & mask24)
	h.AACK = PSN(binary.BigEndian.Uint32(b[8:]) & mask24)
	h.SentAt = binary.BigEndian.Uint32(b[12:])
	h.Window = binary.BigEndian.Uint16(b[16:])
	h.Received = binary.BigEndian.Uint64(b[20:])
	h.Marked = binary.BigEndian.Uint64(b[28:])
	h.ReTx = binary.BigEndian.Uint64(b[36:])
	if !h.wellFormed() {
		return ErrMalformed
	}
	return nil
}

func (h *MPAckBatch) put(b []byte) {
	_ = b[MPAckBatchLen-1]
	b[0] = flag(h.Responses, mpBit5) | MPVersion
	b[1] = 0
	binary.BigEndian.PutUint16(b[2:], h.Path)
	binary.BigEndian.PutUint32(b[4:], uint32(h.Base)&mask24)
	binary.BigEndian.PutUint32(b[8:], uint32(h.AACK)&mask24)
	binary.BigEndian.PutUint32(b[12:], h.SentAt)
	binary.BigEndian.PutUint16(b[16:], h.Window)
	binary.BigEndian.PutUint16(b[18:], 0)
	binary.BigEndian.PutUint64(b[20:], h.Received)
	binary.BigEndian.PutUint64(b[28:], h.Marked)
	binary.BigEndian.PutUint64(b[36:], h.ReTx)
}
