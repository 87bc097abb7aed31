package transport

import (
	"fmt"

	"github.com/braid-rdma/braid/wire"
)

// Access is a set of rights on a region.
type Access uint8

// Rights. Local reading needs none.
const (
	LocalWrite Access = 1 << iota
	RemoteWrite
	RemoteRead
	RemoteAtomic
)

// PD is the number of a protection domain. No other domain of the process has it,
// on whatever device, so that the number alone tells whose memory a region is.
type PD uint64

// LKey is the local key of a region. It is never on the wire.
type LKey uint32

// Region is registered memory as the transport knows it: where it begins in
// the peer's address space, how long it is and what may be done with it.
type Region struct {
	Base    uint64 // address of the first byte, as remote requests name it
	Length  uint64
	LKey    LKey
	RKey    wire.RKey
	PD      PD
	Access  Access
	Bytes   []byte // the memory itself; nil where an engine carries no payload
	Invalid bool   // set when deregistered: nothing may move to or from it any more
}

// Span names Length bytes of a region, beginning Offset bytes into it.
type Span struct {
	Region *Region
	Offset uint64
	Length uint32
}

// Bytes is the memory of the span, or nil where the region keeps none.
func (s Span) Bytes() []byte {
	if s.Region.Bytes == nil {
		return nil
	}
	return s.Region.Bytes[s.Offset : s.Offset+uint64(s.Length)]
}

// appendSlice appends to dst the spans that cover length bytes of the list
// src, beginning at offset. The list must be long enough: the transport checks
// lengths when work is posted and when messages arrive.
func appendSlice(dst, src []Span, offset, length uint32) []Span {
	for _, s := range src {
		if length == 0 {
			break
		}
		if offset >= s.Length {
			offset -= s.Length
			continue
		}
		n := min(s.Length-offset, length)
		dst = append(dst, Span{s.Region, s.Offset + uint64(offset), n})
		length -= n
		offset = 0
	}
	return dst
}

// checkSGEs checks the elements of a request, before anything is queued, for
// their number, and each for its region, bounds and rights. It returns the number
// of bytes that they name.
func checkSGEs(sges []SGE, limit int, pd PD, want Access) (uint64, error) {
	if len(sges) > limit {
		return 0, fmt.Errorf("%w: %d", ErrTooManySGE, len(sges))
	}
	for i := range sges {
		if err := sges[i].check(pd, want); err != nil {
			return 0, fmt.Errorf("element %d: %w", i, err)
		}
	}
	length := totalLength(sges)
	if length > MaxMessage {
		return 0, fmt.Errorf("%w: %d bytes", ErrTooLong, length)
	}
	return length, nil
}

// check checks a span that a request of a domain names.
func (s *Span) check(pd PD, want Access) error {
	r := s.Region
	switch {
	case s.Length == 0:
		return nil
	case r == nil:
		return fmt.Errorf("%w: it names none", ErrRange)
	case r.PD != pd:
		return ErrForeign
	case s.Offset > r.Length || uint64(s.Length) > r.Length-s.Offset:
		return fmt.Errorf("%w: %d bytes at offset %d of %d", ErrRange, s.Length, s.Offset, r.Length)
	case r.Invalid || r.Access&want != want:
		return ErrLocalAccess
	}
	return nil
}

// appendSGEs copies the elements of a request that name anything.
func appendSGEs(dst, src []SGE) []SGE {
	for _, s := range src {
		if s.Length > 0 {
			dst = append(dst, s)
		}
	}
	return dst
}

// totalLength is the number of bytes that a list of spans covers.
func totalLength(spans []Span) uint64 {
	var n uint64
	for _, s := range spans {
		n += uint64(s.Length)
	}
	return n
}

// anyInvalid says whether a region of the list has been deregistered.
func anyInvalid(spans []Span) bool {
	for _, s := range spans {
		if s.Region.Invalid {
			return true
		}
	}
	return false
}

// AtomicOp is a remote atomic operation.
type AtomicOp uint8

// The two atomic operations of the specification.
const (
	CompareSwap AtomicOp = iota
	FetchAdd
)

// Memory is the registered memory of the device a queue pair belongs to. The
// engine that owns the regions implements it.
type Memory interface {
	// Resolve checks a remote access for key, rights, protection domain and
	// bounds (address plus length may not overflow) and names the bytes. A zero
	// length is always granted and yields a span of length zero.
	Resolve(pd PD, rkey wire.RKey, va uint64, length uint32, want Access) (Span, bool)
	// Atomic runs the operation on the eight bytes of s and returns their value
	// before it. For CompareSwap a is compared and b stored; for FetchAdd a is added.
	Atomic(s Span, op AtomicOp, a, b uint64) uint64
	// Store writes the result of an atomic into the eight local bytes of s, in
	// the byte order of the host.
	Store(s Span, value uint64)
	// Invalidate ends the use of a remote key (SEND with invalidate).
	Invalidate(pd PD, rkey wire.RKey) bool
}
