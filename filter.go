package braid

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/braid-rdma/braid/internal/sched"
	"github.com/braid-rdma/braid/internal/session"
)

// Filter disturbs messages that arrive, so that a program can be tried with what a network and
// its peers may do to it (X-RDMA §VI-C). Channels are reliable: without a filter none of it
// happens. Each of the chances is between 0 and 1; the first that is drawn counts.
type Filter struct {
	// Match says which messages it concerns; nil: all. It is called by the context while nothing
	// else goes on, must return soon and must call neither the channel nor the context.
	Match func(m *Msg) bool
	// Drop loses a message: a caller whose call or response is lost waits until its context ends.
	Drop float64
	// Duplicate delivers a message twice. Responses are not concerned.
	Duplicate float64
	// Corrupt changes a bit of the payload.
	Corrupt float64
	// Slow delivers a message after Delay, and what comes by the same channel after it later still:
	// the order stays.
	Slow  float64
	Delay time.Duration
	// Seed decides what is drawn.
	Seed uint64
}

// filtering is a filter at work.
type filtering struct {
	Filter
	r *rand.Rand
}

// SetFilter installs a filter, or with nil removes the one that there is. Messages that the one before has delayed are delivered.
func (c *Context) SetFilter(f *Filter) error {
	if f != nil {
		if err := f.check(); err != nil {
			return err
		}
	}
	c.exclusive(func() { c.install(f) })
	return nil
}

func (c *Context) install(f *Filter) {
	c.filter = nil
	if f != nil {
		c.filter = &filtering{*f, rand.New(rand.NewPCG(f.Seed, 0))}
	}
	for _, ch := range c.channels {
		if ch != nil && ch.delayed.Len() > 0 {
			ch.handDelayed() // else what comes now waits behind them, as long as the filter before has said
		}
	}
}

func (f *Filter) check() error {
	for _, chance := range []float64{f.Drop, f.Duplicate, f.Corrupt, f.Slow} {
		if !(chance >= 0 && chance <= 1) {
			return fmt.Errorf("%w: a chance of %v", ErrConfig, chance)
		}
	}
	if f.Delay < 0 {
		return fmt.Errorf("%w: a delay of %v", ErrConfig, f.Delay)
	}
	return nil
}

// deliver hands a message to the application, as far as the filter lets it.
func (ch *Channel) deliver(m *Msg) {
	f := ch.context.filter
	switch {
	case ch.delayed.Len() > 0:
		ch.delayed.Push(m) // behind those before it
	case f == nil || m.in.Kind == session.Cancel || f.Match != nil && !f.Match(m):
		ch.hand(m)
	default:
		ch.disturb(f, m)
	}
}

// disturb does to a message what is drawn.
func (ch *Channel) disturb(f *filtering, m *Msg) {
	draw := func(chance float64) bool { return chance > 0 && f.r.Float64() < chance }
	ch.filtered++
	switch {
	case draw(f.Drop):
		ch.lose(m)
	case draw(f.Slow):
		ch.delayed.Push(m)
		ch.context.after(f.Delay, ch)
	case draw(f.Duplicate) && !m.in.Kind.IsResponse() && len(ch.incoming) < cap(ch.incoming)/2:
		again := ch.duplicate(m)
		ch.hand(m)
		ch.hand(again)
	case draw(f.Corrupt) && m.Len() > 0:
		m.Bytes()[f.r.IntN(m.Len())] ^= 1 << f.r.IntN(8)
		ch.hand(m)
	default:
		ch.filtered--
		ch.hand(m)
	}
}

// duplicate copies a message. Only one of a call and its copy has a response.
func (ch *Channel) duplicate(m *Msg) *Msg {
	again := newMsg(ch)
	again.copied = true
	again.in.Kind, again.in.Call, again.in.Length = m.in.Kind, m.in.Call, m.in.Length
	again.in.Payload = bytes.Clone(m.Bytes())
	again.replied.Store(true)
	return again
}

// lose drops a message. A call that it is, or whose response, stays open until somebody gives it up.
func (ch *Channel) lose(m *Msg) {
	ch.take(m)
	if m.IsCall() {
		if ch.lostRequests = append(ch.lostRequests, m.in.Call); len(ch.lostRequests) > maxCalls { // an honest peer has no more
			ch.lostRequests = slices.Delete(ch.lostRequests, 0, 1)
		}
		if m.in.Cancelled {
			ch.endLost(m.in.Call)
		}
	}
	if m.in.Request != nil {
		if o := m.in.Request.Ref.(*outgoing); o.finished.Load() { // its caller has given up
			o.drop()
		} else {
			ch.lostCalls = append(ch.lostCalls, o)
		}
		m.in.Request = nil
	}
	m.Release()
}

// forgetLost forgets a call whose caller has given up, if its response was lost.
func (ch *Channel) forgetLost(o *outgoing) {
	if i := slices.Index(ch.lostCalls, o); i >= 0 {
		ch.lostCalls = slices.Delete(ch.lostCalls, i, i+1)
		o.drop()
	}
}

// endLost responds to a call that was lost when its caller has given it up, who has a receive for
// the response and no other use for it until that comes.
func (ch *Channel) endLost(call uint32) {
	i := slices.Index(ch.lostRequests, call)
	if i < 0 {
		return
	}
	ch.lostRequests = slices.Delete(ch.lostRequests, i, i+1)
	o, err := ch.newOutgoing(session.Failure, []byte("a filter has lost the call"))
	if err != nil {
		ch.fail(err)
		return
	}
	o.Call, o.until = call, untilNothing
	o.perform(ch.context)
}

// after delivers what a channel has delayed, later, unless something else does before.
func (c *Context) after(delay time.Duration, ch *Channel) {
	var timer *sched.Timer
	timer = c.runtime.NewTimer(func() {
		c.exclusive(func() {
			if ch.delay == timer { // else these are others, which another filter has delayed
				ch.handDelayed()
			}
		})
	})
	ch.delay = timer
	timer.Reset(delay)
}

// handDelayed hands on what was delayed.
func (ch *Channel) handDelayed() {
	if ch.delay != nil {
		ch.delay.Stop()
		ch.delay = nil
	}
	for m, ok := ch.delayed.Pop(); ok; m, ok = ch.delayed.Pop() {
		if ch.ended.Load() == nil || m.in.Request == nil && m.in.Kind != session.Cancel {
			ch.hand(m)
			continue
		}
		if o := m.in.Request; o != nil {
			o.Ref.(*outgoing).finish(ch.Err())
			o.Ref.(*outgoing).drop()
		}
		ch.context.bulk.taken(m)
		m.Release()
	}
	ch.context.touch(ch)
}
