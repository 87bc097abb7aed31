package wire

import "encoding/binary"

// AETH is the acknowledge extended transport header: the verdict on a request,
// and the number of requests the responder has completed.
type AETH struct {
	Syndrome Syndrome
	MSN      uint32 // 24 bits, wraps
}

// Append writes the header after b.
func (h AETH) Append(b []byte) []byte {
	b, space := extend(b, AETHLen)
	h.put(space)
	return b
}

func (h *AETH) load(b []byte) {
	word := binary.BigEndian.Uint32(b)
	// The reserved bit goes here, so that callers may compare syndromes with ==.
	h.Syndrome = Syndrome(word>>24) & syndromeMask
	h.MSN = word & mask24
}

func (h *AETH) put(b []byte) {
	binary.BigEndian.PutUint32(b, uint32(h.Syndrome&syndromeMask)<<24|h.MSN&mask24)
}
