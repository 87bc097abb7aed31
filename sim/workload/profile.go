package workload

import (
	"math/rand/v2"
)

// A Profile is what all flows of a generator have in common. Its zero value is
// traffic that starts at time 0, as fast as the transport allows.
type Profile struct {
	Start    int64   // picoseconds: when the workload begins
	Jitter   int64   // picoseconds: each flow that waits for no other starts up to this much later, uniformly
	Message  int     // bytes of a message; 0: see Flow.MessageSize
	Class    string  // groups flows in results; empty: the generator's own
	Rate     int64   // bits/s that the application of each flow offers; 0: as fast as the transport allows
	Priority int     // traffic class
	Sync     float64 // share of the messages that carry the synchronise flag
}

// flow makes a flow with the profile's traits; the caller sets its Start.
func (p Profile) flow(ownClass string, src, dst int, bytes int64) Flow {
	class := p.Class
	if class == "" {
		class = ownClass
	}
	return Flow{
		Src: src, Dst: dst, Bytes: bytes, Message: p.Message, Class: class,
		Rate: p.Rate, Priority: p.Priority, Sync: p.Sync,
	}
}

// start draws the start of a flow that waits for no other.
func (p Profile) start(r *rand.Rand) int64 {
	if p.Jitter == 0 {
		return p.Start
	}
	return p.Start + r.Int64N(p.Jitter+1)
}

// check tests the profile's own fields.
func (p Profile) check(c *configCheck) {
	c.within("Start", p.Start, 0, MaxTime)
	c.within("Jitter", p.Jitter, 0, MaxTime)
	c.within("Message", int64(p.Message), 0, MaxMessage)
	c.within("Rate", p.Rate, 0, MaxRate)
	c.within("Priority", int64(p.Priority), 0, Priorities-1)
	c.share("Sync", p.Sync)
}
