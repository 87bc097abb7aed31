package wire

import "encoding/binary"

// DETH is the datagram extended transport header: the key that admits a UD
// packet to its queue pair, and the queue pair that sent it.
type DETH struct {
	QKey  QKey
	SrcQP QPN
}

// Append writes the header after b.
func (h DETH) Append(b []byte) []byte {
	b, space := extend(b, DETHLen)
	h.put(space)
	return b
}

func (h *DETH) load(b []byte) {
	_ = b[DETHLen-1]
	h.QKey = QKey(binary.BigEndian.Uint32(b))
	h.SrcQP = QPN(binary.BigEndian.Uint32(b[4:]) & mask24)
}

func (h *DETH) put(b []byte) {
	_ = b[DETHLen-1]
	binary.BigEndian.PutUint32(b, uint32(h.QKey))
	binary.BigEndian.PutUint32(b[4:], uint32(h.SrcQP)&mask24)
}
