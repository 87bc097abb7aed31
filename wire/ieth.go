package wire

import "encoding/binary"

// IETH is the invalidate extended transport header: the remote key that the
// receiver of a SEND with invalidate revokes.
type IETH struct {
	RKey RKey
}

// Append writes the header after b.
func (h IETH) Append(b []byte) []byte {
	b, space := extend(b, IETHLen)
	h.put(space)
	return b
}

func (h *IETH) load(b []byte) { h.RKey = RKey(binary.BigEndian.Uint32(b)) }

func (h *IETH) put(b []byte) { binary.BigEndian.PutUint32(b, uint32(h.RKey)) }
