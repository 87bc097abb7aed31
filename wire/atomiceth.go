package wire

import "encoding/binary"

// AtomicETH is the header of an atomic request on the eight bytes at VA.
// CompareSwap stores SwapAdd if the bytes equal Compare; FetchAdd adds SwapAdd
// and ignores Compare.
type AtomicETH struct {
	VA      uint64
	RKey    RKey
	SwapAdd uint64
	Compare uint64
}

// Append writes the header after b.
func (h AtomicETH) Append(b []byte) []byte {
	b, space := extend(b, AtomicETHLen)
	h.put(space)
	return b
}

func (h *AtomicETH) load(b []byte) {
	_ = b[AtomicETHLen-1]
	h.VA = binary.BigEndian.Uint64(b)
	h.RKey = RKey(binary.BigEndian.Uint32(b[8:]))
	h.SwapAdd = binary.BigEndian.Uint64(b[12:])
	h.Compare = binary.BigEndian.Uint64(b[20:])
}

func (h *AtomicETH) put(b []byte) {
	_ = b[AtomicETHLen-1]
	binary.BigEndian.PutUint64(b, h.VA)
	binary.BigEndian.PutUint32(b[8:], uint32(h.RKey))
	binary.BigEndian.PutUint64(b[12:], h.SwapAdd)
	binary.BigEndian.PutUint64(b[20:], h.Compare)
}
