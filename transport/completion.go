package transport

import (
	"fmt"

	"github.com/braid-rdma/braid/wire"
)

// Completion tells the outcome of one work request.
type Completion struct {
	WRID  uint64   // the ID of the work request
	QPN   wire.QPN // the queue pair that the request was posted to
	Bytes uint32   // received; or sent, written or read
	Imm   uint32   // with HasImm
	// InvalidatedRKey is the key that the peer's SEND with invalidate ended,
	// with HasInv.
	InvalidatedRKey wire.RKey
	// SrcQP and Source name the sender of a datagram. The first GRHLength bytes
	// of its receive buffer are the network header's, and are part of Bytes.
	SrcQP     wire.QPN
	Source    AH
	Status    Status
	Op        Op
	HasImm    bool
	HasInv    bool
	Solicited bool // the sender asked for a solicited event
}

// Err is nil for a successful completion, else a *CompletionError.
func (c *Completion) Err() error {
	if c.Status == Success {
		return nil
	}
	return &CompletionError{WRID: c.WRID, Status: c.Status, Op: c.Op, QPN: c.QPN}
}

// CompletionError is a work request that failed. errors.Is finds its status,
// as in errors.Is(err, RetryExcErr).
type CompletionError struct {
	WRID   uint64
	Status Status
	Op     Op
	QPN    wire.QPN
}

func (e *CompletionError) Error() string {
	return fmt.Sprintf("%v: work request %d (%v) of queue pair %v", e.Status, e.WRID, e.Op, e.QPN)
}

// Timeout says whether the peer did not respond in time: with Temporary it makes
// the error a net.Error.
func (e *CompletionError) Timeout() bool {
	return e.Status == RetryExcErr || e.Status == RespTimeoutErr
}

// Temporary is false: the queue pair is in the error state.
func (e *CompletionError) Temporary() bool { return false }

// Unwrap is the status.
func (e *CompletionError) Unwrap() error { return e.Status }
