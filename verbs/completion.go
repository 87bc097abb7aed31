package verbs

import (
	"fmt"

	"github.com/braid-rdma/braid/transport"
)

// Completion tells the outcome of one work request.
type Completion struct {
	WRID   uint64 // the ID of the work request
	Status Status
	Op     Op
	QPN    QPN    // the queue pair that the request was posted to
	Bytes  uint32 // received; or sent, written or read
	Imm    uint32 // with HasImm
	// InvalidatedRKey is the key that the peer's SEND with invalidate ended,
	// with HasInv.
	InvalidatedRKey uint32
	// SrcQP and Source name the sender of a datagram. Its first GRHLength bytes
	// of the receive buffer are the network header's, and are part of Bytes.
	SrcQP     QPN
	Source    AH
	HasImm    bool
	HasInv    bool
	Solicited bool // the sender asked for a solicited event
}

// GRHLength is the room for a network header at the front of the receive
// buffer of a datagram.
const GRHLength = 40

// Err is nil for a successful completion, else a *CompletionError.
func (c *Completion) Err() error {
	if c.Status == transport.Success {
		return nil
	}
	return &CompletionError{WRID: c.WRID, Status: c.Status, Op: c.Op, QPN: c.QPN}
}

// CompletionError is a work request that failed. errors.Is finds its status,
// as verbs.ErrRetryExceeded or as transport.RetryExcErr.
type CompletionError struct {
	WRID   uint64
	Status Status
	Op     Op
	QPN    QPN
}

func (e *CompletionError) Error() string {
	return fmt.Sprintf("%v: work request %d (%v) of queue pair %v", e.Status, e.WRID, e.Op, e.QPN)
}

// Timeout says whether the peer did not answer in time: with Temporary it makes the
// error a net.Error.
func (e *CompletionError) Timeout() bool {
	return e.Status == transport.RetryExcErr || e.Status == transport.RespTimeoutErr
}

// Temporary is false: the queue pair is in the error state.
func (e *CompletionError) Temporary() bool { return false }

// Unwrap is the status.
func (e *CompletionError) Unwrap() error { return e.Status }

// from takes over what the transport reports.
func (c *Completion) from(t *transport.Completion) {
	*c = Completion{
		WRID: t.ID, Status: t.Status, Op: t.Op, QPN: QPN(t.QPN), Bytes: t.Bytes,
		Imm: t.Imm, HasImm: t.WithImm,
		InvalidatedRKey: t.Invalidated, HasInv: t.WithInv,
		SrcQP: QPN(t.SrcQP), Source: AH(t.AH), Solicited: t.Solicited,
	}
}

// isReceive says whether the completion belongs to a receive request.
func isReceive(op Op) bool { return op >= OpRecv }
