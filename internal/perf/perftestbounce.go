package perf

import (
	"context"
	"time"

	"github.com/braid-rdma/braid/verbs"
)

// bounce plays ib_write_lat: both ends write to each other's memory in turn, and
// each sees by the last byte, which counts the rounds, that a message is whole. The
// server begins. On a standard connection the last byte does arrive last.
func (p *perftestEnd) bounce(ctx context.Context, client bool, m *meter) error {
	wr := p.request(0)
	wr.Op, wr.Flags, wr.RemoteAddr = verbs.OpWrite, verbs.Signaled, p.peers[0].Addr
	var posted time.Time
	seen := 0 // messages of the peer
	for round := 1; round <= p.spec.Iterations; round++ {
		if client || round > 1 {
			seen++
			if err := p.awaitCount(ctx, byte(seen)); err != nil {
				return err
			}
		}
		now := time.Now()
		if !posted.IsZero() {
			m.latency.record(now.Sub(posted) / 2)
			m.add(now, 1, p.spec.Size)
		}
		posted = now
		p.local.Bytes()[p.spec.Size-1] = byte(round)
		if err := p.qps[0].PostSend(&wr); err != nil {
			return err
		}
		// The buffer changes in the next round, so this one has to be over.
		if _, err := p.poll(ctx); err != nil {
			return err
		}
	}
	if seen < p.spec.Iterations {
		// The server's last message gets a reply, too.
		if err := p.awaitCount(ctx, byte(seen+1)); err != nil {
			return err
		}
	}
	// The last message has no successor to measure its time by.
	m.add(time.Now(), 1, p.spec.Size)
	return nil
}

// awaitCount waits until the last byte of the peer's message has a value.
func (p *perftestEnd) awaitCount(ctx context.Context, count byte) error {
	last := make([]byte, 1)
	for spins := 0; ; spins++ {
		if err := p.shared.Load(p.spec.Size-1, last); err != nil {
			return err
		}
		if last[0] == count {
			return nil
		}
		// Polling lets the engine work; nothing completes while nothing is posted,
		// unless the queue pair has failed.
		n, err := p.cq.Poll(p.completions[:])
		if err != nil {
			return err
		}
		if err := firstError(p.completions[:n]); err != nil {
			return err
		}
		if spins%spinsPerCheck == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}
