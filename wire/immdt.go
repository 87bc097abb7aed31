package wire

import "encoding/binary"

// ImmDt is immediate data: four bytes for the receiver's completion.
type ImmDt uint32

// ParseImmDt reads the header at the start of b.
func ParseImmDt(b []byte) (h ImmDt, rest []byte, err error) {
	if len(b) < ImmDtLen {
		return 0, nil, ErrTruncated
	}
	h.load(b)
	return h, b[ImmDtLen:], nil
}

// Append writes the header after b.
func (h ImmDt) Append(b []byte) []byte {
	b, space := extend(b, ImmDtLen)
	h.put(space)
	return b
}

func (h *ImmDt) load(b []byte) { *h = ImmDt(binary.BigEndian.Uint32(b)) }

func (h *ImmDt) put(b []byte) { binary.BigEndian.PutUint32(b, uint32(*h)) }
