package perf

import (
	"context"
	"time"

	"github.com/braid-rdma/braid/verbs"
)

const (
	// warmUpRounds are not measured: the first ones pay for caches, for the
	// first estimate of the round-trip time, and for the peer's waking up.
	warmUpRounds = 100
	// echoSignal is how often an operation of a ping-pong asks for its
	// completion. The reply tells all that matters; the completions only free
	// the send queue.
	echoSignal = 16
)

// roundTrip is one end of a latency test.
type roundTrip struct {
	e  *endpoint
	s  stream // for the shape of the requests and the count of operations
	wr verbs.SendWR
	// replies are receives that have completed and were not yet looked at.
	replies int
}

func newRoundTrip(e *endpoint) *roundTrip {
	return &roundTrip{e: e, s: newStream(e, 0), wr: e.request(0)}
}

// measureLatency runs rounds until the iterations or the time are over: with
// an echo a message each way, of which half the time counts; otherwise one
// operation from its posting to its completion.
func (e *endpoint) measureLatency(ctx context.Context, m *meter) error {
	r := newRoundTrip(e)
	for range e.warmUp {
		if err := r.round(ctx); err != nil {
			return err
		}
	}
	m.begin()
	parts := time.Duration(1)
	if e.spec.echoes() {
		parts = 2
	}
	before := m.start
	for i := 0; e.spec.Duration > 0 || i < e.spec.Iterations; i++ {
		if err := r.round(ctx); err != nil {
			return err
		}
		now := time.Now()
		m.latency.record(now.Sub(before) / parts)
		m.add(now, 1, e.layout.size)
		if e.over(now.Sub(m.start)) {
			break
		}
		// Receives are replaced between two measurements, as there are plenty.
		if err := e.replaceReceives(); err != nil {
			return err
		}
		before = time.Now()
	}
	return nil
}

// round posts one operation and waits for its reply.
func (r *roundTrip) round(ctx context.Context) error {
	if err := r.post(ctx); err != nil {
		return err
	}
	if !r.e.spec.echoes() {
		return r.awaitCompleted(ctx, r.s.posted)
	}
	for r.replies == 0 {
		if err := r.collect(ctx); err != nil {
			return err
		}
	}
	r.replies--
	return nil
}

// post posts the next operation, as soon as the send queue has room.
func (r *roundTrip) post(ctx context.Context) error {
	if full := r.s.posted - r.s.completed; full >= r.s.depth {
		if err := r.awaitCompleted(ctx, r.s.completed+1); err != nil {
			return err
		}
	}
	r.s.place(&r.wr, r.s.posted)
	r.s.posted++
	r.wr.ID, r.wr.Flags = r.s.posted, 0
	every := min(echoSignal, r.s.depth)
	if !r.e.spec.echoes() || r.s.posted%every == 0 {
		r.wr.Flags = verbs.Signaled
	}
	return r.s.qp.PostSend(&r.wr)
}

// awaitCompleted waits until the first end operations have completed.
func (r *roundTrip) awaitCompleted(ctx context.Context, end uint64) error {
	for r.s.completed < end {
		if err := r.collect(ctx); err != nil {
			return err
		}
	}
	return nil
}

// collect takes in some completions.
func (r *roundTrip) collect(ctx context.Context) error {
	completions, err := r.e.poll(ctx)
	if err != nil {
		return err
	}
	for i := range completions {
		c := &completions[i]
		if isReceive(c) {
			r.replies++
			r.e.noteReceive(c)
			continue
		}
		r.s.completed = c.WRID & countMask
	}
	return nil
}

// echo is the other end of a ping-pong: it replies to every message with one of
// its own until ctx ends, which is no error.
func (e *endpoint) echo(ctx context.Context) error {
	r := newRoundTrip(e)
	for {
		for r.replies > 0 {
			r.replies--
			if err := r.post(ctx); err != nil {
				return err
			}
		}
		if err := e.replaceReceives(); err != nil {
			return err
		}
		if err := r.collect(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
	}
}
