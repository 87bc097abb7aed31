package verbs

import (
	"fmt"

	"github.com/braid-rdma/braid/transport"
)

// SGE names Length bytes of a region, beginning Offset bytes into it. An
// element of length zero names nothing and is passed over.
type SGE struct {
	MR     *MR
	Offset int
	Length int
}

// SendWR is a request to send, write, read or run an atomic. It is copied when
// posted: the struct and its lists may be reused at once, the memory that they
// name only after the completion. Inline bytes are copied as well.
type SendWR struct {
	ID    uint64
	Op    Op
	Flags SendFlags
	SGEs  []SGE // local memory: source; or destination of READ and atomics
	// Inline is a source by value, instead of SGEs. It needs no registration.
	Inline     []byte
	RemoteAddr uint64
	RKey       RKey   // of the remote region; for OpSendInv the key to invalidate
	Imm        uint32 // OpSendImm, OpWriteImm
	Compare    uint64 // OpCompareSwap
	SwapAdd    uint64 // OpCompareSwap: the new value; OpFetchAdd: the addend

	// Datagrams only.
	AH         AH
	RemoteQPN  QPN
	RemoteQKey QKey
}

// RecvWR offers memory for one incoming message.
type RecvWR struct {
	ID   uint64
	SGEs []SGE
}

// appendSpans translates elements into the transport's terms. What is wrong
// with them is found here, before anything is queued.
func appendSpans(dst []transport.Span, sges []SGE, pd *PD) ([]transport.Span, error) {
	if len(sges) > transport.MaxSGE {
		return dst, fmt.Errorf("%w: %d", ErrTooManySGE, len(sges))
	}
	for i := range sges {
		s := &sges[i]
		if s.Length == 0 {
			continue
		}
		if s.MR == nil {
			return dst, fmt.Errorf("%w: element %d names no region", ErrRange, i)
		}
		if s.MR.pd != pd {
			return dst, fmt.Errorf("%w: region of element %d", ErrForeign, i)
		}
		if err := s.MR.checkRange(s.Offset, s.Length); err != nil {
			return dst, fmt.Errorf("element %d: %w", i, err)
		}
		if uint64(s.Length) > transport.MaxMessage {
			return dst, fmt.Errorf("%w: element %d has %d bytes", ErrTooLong, i, s.Length)
		}
		dst = append(dst, transport.Span{Region: &s.MR.region, Offset: uint64(s.Offset), Length: uint32(s.Length)})
	}
	return dst, nil
}
