package wire

import "encoding/binary"

// AtomicAckETH is the answer to an atomic request: what the eight bytes held
// before it.
type AtomicAckETH struct {
	Original uint64
}

// Append writes the header after b.
func (h AtomicAckETH) Append(b []byte) []byte {
	b, space := extend(b, AtomicAckETHLen)
	h.put(space)
	return b
}

func (h *AtomicAckETH) load(b []byte) { h.Original = binary.BigEndian.Uint64(b) }

func (h *AtomicAckETH) put(b []byte) { binary.BigEndian.PutUint64(b, h.Original) }
