package wire

import "encoding/binary"

// RETH is the RDMA extended transport header: where a READ reads or a WRITE
// writes. On an RC WRITE it stands in the first packet only; on an MP WRITE it
// stands in every packet, with VA the address of that packet's own payload and
// Length the bytes of the whole message.
type RETH struct {
	VA     uint64
	RKey   RKey
	Length uint32
}

// Append writes the header after b.
func (h RETH) Append(b []byte) []byte {
	b, space := extend(b, RETHLen)
	h.put(space)
	return b
}

func (h *RETH) load(b []byte) {
	_ = b[RETHLen-1]
	h.VA = binary.BigEndian.Uint64(b)
	h.RKey = RKey(binary.BigEndian.Uint32(b[8:]))
	h.Length = binary.BigEndian.Uint32(b[12:])
}

func (h *RETH) put(b []byte) {
	_ = b[RETHLen-1]
	binary.BigEndian.PutUint64(b, h.VA)
	binary.BigEndian.PutUint32(b[8:], uint32(h.RKey))
	binary.BigEndian.PutUint32(b[12:], h.Length)
}
