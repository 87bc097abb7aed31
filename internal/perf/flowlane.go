package perf

import (
	"github.com/braid-rdma/braid/verbs"
)

// lane is a queue pair with the flow that it carries. Flows are cut into messages, of which
// each has a completion: they come in order.
type lane struct {
	s    stream // for the place of messages and their number
	wr   verbs.SendWR
	busy bool
	flow flow
	pace *pace // as the driver's

	posted, completed int64 // bytes of the flow
}

func newLane(e *endpoint, index int) *lane {
	return &lane{s: newStream(e, index), wr: e.request(index)}
}

// begin gives the lane a flow.
func (l *lane) begin(f flow) error {
	l.busy, l.flow, l.posted, l.completed = true, f, 0, 0
	return l.post()
}

// message is the size of the message at an offset of the flow.
func (l *lane) message(offset int64) int64 { return min(int64(l.s.layout.size), l.flow.size-offset) }

// post posts messages for as long as the depth allows.
func (l *lane) post() error {
	for l.posted < l.flow.size && l.s.posted-l.s.completed < l.s.depth {
		n := l.message(l.posted)
		if !l.pace.take(n) {
			return nil // the driver resumes it
		}
		l.s.place(&l.wr, l.s.posted)
		l.wr.SGEs[0].Length = uint32(n)
		l.s.posted++
		l.wr.ID, l.wr.Flags = uint64(l.s.index)<<countBits|l.s.posted&countMask, verbs.Signaled
		if err := l.s.qp.PostSend(&l.wr); err != nil {
			return err
		}
		l.posted += n
	}
	return nil
}

// complete takes in the completion of the oldest message, and returns its bytes.
func (l *lane) complete() int64 {
	n := l.message(l.completed)
	l.s.completed++
	if l.completed += n; l.completed == l.flow.size {
		l.busy = false
	}
	return n
}

// stop ends the flow with the messages that are outstanding.
func (l *lane) stop() {
	l.flow.size = l.posted
	l.busy = l.completed < l.posted
}
