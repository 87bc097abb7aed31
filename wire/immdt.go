package wire

import "encoding/binary"

// ImmDt is immediate data: four bytes for the receiver's completion.
type ImmDt uint32

// Append writes the header after b.
func (h ImmDt) Append(b []byte) []byte {
	b, space := extend(b, ImmDtLen)
	h.put(space)
	return b
}

func (h *ImmDt) load(b []byte) { *h = ImmDt(binary.BigEndian.Uint32(b)) }

func (h *ImmDt) put(b []byte) { binary.BigEndian.PutUint32(b, uint32(*h)) }
