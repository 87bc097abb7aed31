package perf

import (
	"time"

	"github.com/braid-rdma/braid/verbs"
)

// lane is a queue pair with the flow that it carries. Flows are cut into messages, of which
// each has a completion: they come in order.
type lane struct {
	s    stream // for the place of messages and their number
	wr   verbs.SendWR
	busy bool
	flow flow

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

// flowClass collects the flows of one range of sizes.
type flowClass struct {
	above int64 // bytes
	upTo  int64 // 0: no limit
	flows uint64
	bytes int64
	times *histogram
}

// classEdges part the flows: those that fit a few packets, those that end before a window has
// grown, and those that the bandwidth decides.
var classEdges = []int64{10e3, 100e3, 1e6, 10e6, 0}

// tally is what has become of the flows.
type tally struct {
	classes    []flowClass
	unfinished uint64 // of those that began
	waiting    uint64 // that did not begin
	turnedAway uint64 // more would have waited than maxWaiting
}

func newTally() *tally {
	t := &tally{}
	above := int64(0)
	for _, edge := range classEdges {
		t.classes = append(t.classes, flowClass{above: above, upTo: edge, times: newHistogram()})
		above = edge
	}
	return t
}

// finish takes in a flow that has arrived.
func (t *tally) finish(f *flow, took time.Duration) {
	for i := range t.classes {
		if c := &t.classes[i]; c.upTo == 0 || f.size <= c.upTo {
			c.flows++
			c.bytes += f.size
			c.times.record(took)
			return
		}
	}
}
