package wire

import "encoding/binary"

// MPAck follows AETH on a multi-path acknowledgement and on the answer to a
// probe. It returns to the sender everything that the sender, which keeps no
// state per path, needs to know about one packet (MP-RDMA §3.1, §3.2).
type MPAck struct {
	ECE  bool // the packet arrived with an ECN mark
	ReTx bool // the packet was a retransmission
	// Responses says that the packet was one of the stream of responses, which
	// has PSNs of its own, and not one of the stream of requests.
	Responses bool
	Path      uint16 // the packet's virtual path
	SACK      PSN    // the packet
	AACK      PSN    // every packet before this one has arrived: the receiver's rcv_nxt
	SentAt    uint32 // the packet's SentAt
	Window    uint16 // packets the receiver can take; 0: it sets no limit
}

// ParseMPAck reads the header at the start of b.
func ParseMPAck(b []byte) (h MPAck, rest []byte, err error) {
	if len(b) < MPAckLen {
		return MPAck{}, nil, ErrTruncated
	}
	if err := h.load(b); err != nil {
		return MPAck{}, nil, err
	}
	return h, b[MPAckLen:], nil
}

// Append writes the header after b.
func (h MPAck) Append(b []byte) []byte {
	b, space := extend(b, MPAckLen)
	h.put(space)
	return b
}

func (h *MPAck) load(b []byte) error {
	_ = b[MPAckLen-1]
	if b[0]&mpVersionMask != MPVersion {
		return ErrVersion
	}
	h.ECE = b[0]&mpBit7 != 0
	h.ReTx = b[0]&mpBit6 != 0
	h.Responses = b[0]&mpBit5 != 0
	h.Path = binary.BigEndian.Uint16(b[2:])
	h.SACK = PSN(binary.BigEndian.Uint32(b[4:]) & mask24)
	h.AACK = PSN(binary.BigEndian.Uint32(b[8:]) & mask24)
	h.SentAt = binary.BigEndian.Uint32(b[12:])
	h.Window = binary.BigEndian.Uint16(b[16:])
	return nil
}

func (h *MPAck) put(b []byte) {
	_ = b[MPAckLen-1]
	b[0] = flag(h.ECE, mpBit7) | flag(h.ReTx, mpBit6) | flag(h.Responses, mpBit5) | MPVersion
	b[1] = 0
	binary.BigEndian.PutUint16(b[2:], h.Path)
	binary.BigEndian.PutUint32(b[4:], uint32(h.SACK)&mask24)
	binary.BigEndian.PutUint32(b[8:], uint32(h.AACK)&mask24)
	binary.BigEndian.PutUint32(b[12:], h.SentAt)
	binary.BigEndian.PutUint16(b[16:], h.Window)
	binary.BigEndian.PutUint16(b[18:], 0)
}
