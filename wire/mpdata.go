package wire

import "encoding/binary"

// MPVersion is the version of the three multi-path headers. It is in each of
// them because their opcodes are private: nothing else on the wire tells two
// generations apart.
const MPVersion = 2

// Bits of the first byte of the multi-path headers.
const (
	mpBit7        = 0x80 // MPData: ReTx; MPAck: ECE
	mpBit6        = 0x40 // MPData: Sync; MPAck: ReTx
	mpBit5        = 0x20 // MPAck, MPAckBatch: Responses
	mpVersionMask = 0x0f
)

// MPData follows BTH on every multi-path packet that carries data, on requests
// and on answers, and on probes.
type MPData struct {
	ReTx   bool   // sent before: the ACK must not count against its path (MP-RDMA §3.3.2)
	Sync   bool   // part of a synchronise operation (MP-RDMA §3.4)
	Path   uint16 // virtual path on which the sender sent it (MP-RDMA §3.1)
	MSN    uint32 // 24 bits: which message, hence which receive request (MP-RDMA §3.1)
	Offset uint32 // 24 bits: which packet of the message, the paper's iPSN (MP-RDMA §3.1)
	SentAt uint32 // the sender's clock, ns modulo 2^32; the ACK returns it untouched
}

// ParseMPData reads the header at the start of b.
func ParseMPData(b []byte) (h MPData, rest []byte, err error) {
	if len(b) < MPDataLen {
		return MPData{}, nil, ErrTruncated
	}
	if err := h.load(b); err != nil {
		return MPData{}, nil, err
	}
	return h, b[MPDataLen:], nil
}

// Append writes the header after b.
func (h MPData) Append(b []byte) []byte {
	b, space := extend(b, MPDataLen)
	h.put(space)
	return b
}

func (h *MPData) load(b []byte) error {
	_ = b[MPDataLen-1]
	if b[0]&mpVersionMask != MPVersion {
		return ErrVersion
	}
	h.ReTx = b[0]&mpBit7 != 0
	h.Sync = b[0]&mpBit6 != 0
	h.Path = binary.BigEndian.Uint16(b[2:])
	h.MSN = binary.BigEndian.Uint32(b[4:]) & mask24
	h.Offset = binary.BigEndian.Uint32(b[8:]) & mask24
	h.SentAt = binary.BigEndian.Uint32(b[12:])
	return nil
}

func (h *MPData) put(b []byte) {
	_ = b[MPDataLen-1]
	b[0] = flag(h.ReTx, mpBit7) | flag(h.Sync, mpBit6) | MPVersion
	b[1] = 0
	binary.BigEndian.PutUint16(b[2:], h.Path)
	binary.BigEndian.PutUint32(b[4:], h.MSN&mask24)
	binary.BigEndian.PutUint32(b[8:], h.Offset&mask24)
	binary.BigEndian.PutUint32(b[12:], h.SentAt)
}
