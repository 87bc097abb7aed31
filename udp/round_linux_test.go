package udp

import (
	"testing"
	"time"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
	"github.com/braid-rdma/braid/wire"
)

// dueQP is a queue pair whose timer is due until it is handled.
type dueQP struct {
	transport.QP // the methods that a timer does not need
	handled      int
}

func (q *dueQP) Number() wire.QPN { return 0xabcdef }
func (q *dueQP) Timeout() transport.Time {
	if q.handled == 0 {
		return 1
	}
	return transport.Never
}
func (q *dueQP) HandleTimeout(transport.Time)                        { q.handled++ }
func (q *dueQP) PollTransmit(transport.Time, *transport.Packet) bool { return false }
func (q *dueQP) PollCompletion(*transport.Completion) bool           { return false }
func (q *dueQP) PollEvent(*transport.Event) bool                     { return false }

// A round that delivers to the application runs the timers too: else a program
// with a steady stream of completions would keep other queue pairs' timers from
// ever firing.
func TestRoundThatDeliversRunsTimers(t *testing.T) {
	a, b := connect(t, Config{Paths: 1}, verbs.QPOptions{Type: verbs.MP}, 4096)
	noError(t, b.qp.PostRecv(&verbs.RecvWR{SGEs: []verbs.SGE{b.mr.SGE(0, 64)}}))
	e := engineOf(b.dev)
	e.mu.Lock() // the background thread stays out
	defer e.mu.Unlock()
	noError(t, a.qp.PostSend(&verbs.SendWR{Op: verbs.OpSend, SGEs: []verbs.SGE{a.mr.SGE(0, 64)}}))
	due := &dueQP{}
	noError(t, e.Attach(due, nil))
	defer e.Detach(due)
	e.timers.set(e.ports[due.Number()], due.Timeout())
	for end := time.Now().Add(patience); !b.cq.Ready(); {
		if time.Now().After(end) {
			t.Fatal("the message did not arrive")
		}
		due.handled = 0
		e.timers.set(e.ports[due.Number()], due.Timeout())
		e.round(e.Now(), true)
	}
	if due.handled != 1 {
		t.Errorf("the round that delivered ran the timer %d times", due.handled)
	}
}
