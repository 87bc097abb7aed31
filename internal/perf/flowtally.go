package perf

import (
	"fmt"
	"time"

	"github.com/braid-rdma/braid/internal/control"
)

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

// tallyText is a tally on its way to another process.
type tallyText struct {
	Classes    []classText `json:"classes"`
	Unfinished uint64      `json:"unfinished"`
	Waiting    uint64      `json:"waiting"`
	TurnedAway uint64      `json:"turned_away"`
}

type classText struct {
	Flows uint64        `json:"flows"`
	Bytes int64         `json:"bytes"`
	Times histogramText `json:"times"`
}

func (t *tally) text() tallyText {
	text := tallyText{Unfinished: t.unfinished, Waiting: t.waiting, TurnedAway: t.turnedAway}
	for i := range t.classes {
		c := &t.classes[i]
		text.Classes = append(text.Classes, classText{Flows: c.flows, Bytes: c.bytes, Times: c.times.text()})
	}
	return text
}

// add takes in the tally of another process, which may be anything.
func (t *tally) add(text *tallyText) error {
	if len(text.Classes) != len(t.classes) {
		return fmt.Errorf("%w: flows of %d ranges of sizes, not %d", control.ErrProtocol, len(text.Classes), len(t.classes))
	}
	for i := range t.classes {
		c, other := &t.classes[i], &text.Classes[i]
		times, err := other.Times.parse()
		if err != nil {
			return err
		}
		c.flows += other.Flows
		c.bytes += other.Bytes
		c.times.add(times)
	}
	t.unfinished += text.Unfinished
	t.waiting += text.Waiting
	t.turnedAway += text.TurnedAway
	return nil
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
