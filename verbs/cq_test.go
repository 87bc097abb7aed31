package verbs_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

func (p *pair) write(id uint64) verbs.SendWR {
	return verbs.SendWR{ID: id, Op: verbs.OpWrite, Flags: verbs.Signaled, Inline: []byte{byte(id)}, RemoteAddr: p.b.mr.Addr(), RKey: p.b.mr.RKey()}
}

func TestPollInOrderByBatches(t *testing.T) {
	p := newPair(t, verbs.QPOptions{Type: verbs.MP})
	var wrs []verbs.SendWR
	for id := range uint64(40) {
		wrs = append(wrs, p.write(id))
	}
	if n, err := p.a.qp.PostSends(wrs); n != 40 || err != nil {
		t.Fatal(n, err)
	}
	var out [7]verbs.Completion
	next := uint64(0)
	for next < 40 {
		n, err := p.a.cq.Poll(out[:])
		must(t, err)
		for _, c := range out[:n] {
			if c.WRID != next || c.Err() != nil {
				t.Fatalf("completion %+v, want %d", c, next)
			}
			next++
		}
	}
	p.a.wantIdle()
}

// TestStampsOfAnEngineWithoutThem: completions have the times of their delivery, in order.
func TestStampsOfAnEngineWithoutThem(t *testing.T) {
	p := newPair(t, verbs.QPOptions{Type: verbs.MP})
	var out [3]verbs.Completion
	var at [len(out)]verbs.Time
	if _, err := p.a.cq.WaitStamped(t.Context(), out[:], at[:]); !errors.Is(err, verbs.ErrAttr) {
		t.Errorf("times that nobody asked for: %v", err)
	}
	if _, err := p.a.cq.PollStamped(out[:], at[:]); !errors.Is(err, verbs.ErrAttr) {
		t.Errorf("times that nobody asked for: %v", err)
	}
	must(t, p.a.cq.StampArrivals())
	if _, err := p.a.cq.WaitStamped(t.Context(), out[:], at[:2]); !errors.Is(err, verbs.ErrAttr) {
		t.Errorf("no room for the times: %v", err)
	}
	last := p.a.dev.Engine().Now()
	for id := uint64(0); id < 100; {
		wr := p.write(id)
		must(t, p.a.qp.PostSend(&wr))
		n, err := p.a.cq.PollStamped(out[:], at[:])
		if n == 0 {
			n, err = p.a.cq.WaitStamped(t.Context(), out[:], at[:])
		}
		must(t, err)
		for i := range n {
			if now := p.a.dev.Engine().Now(); out[i].WRID != id || at[i] < last || at[i] > now {
				t.Fatalf("completion %d at %d, between %d and %d", out[i].WRID, at[i], last, now)
			}
			last = at[i]
			id++
		}
	}
}

func TestWaitEndsWithContext(t *testing.T) {
	p := newPair(t, verbs.QPOptions{Type: verbs.RC})
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	var out [1]verbs.Completion
	if n, err := p.a.cq.Wait(ctx, out[:]); n != 0 || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(n, err)
	}
}

func TestCloseWakesWaiters(t *testing.T) {
	for name, end := range map[string]func(*side) error{
		"queue":  func(s *side) error { return s.cq.Close() },
		"device": func(s *side) error { return s.dev.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, verbs.QPOptions{Type: verbs.RC})
			var waiters sync.WaitGroup
			for range 3 {
				waiters.Go(func() {
					var out [1]verbs.Completion
					if _, err := p.a.cq.Wait(context.Background(), out[:]); !errors.Is(err, verbs.ErrClosed) {
						t.Errorf("Wait answered %v", err)
					}
				})
			}
			time.Sleep(5 * time.Millisecond)
			must(t, end(p.a))
			waiters.Wait()
		})
	}
}

func TestOverflowIsLoud(t *testing.T) {
	p := newPair(t, verbs.QPOptions{Type: verbs.RC})
	small, err := p.a.dev.CreateCQ(4)
	must(t, err)
	qp, err := p.a.pd.CreateQP(verbs.QPOptions{Type: verbs.RC, SendCQ: small})
	must(t, err)
	bystander, err := p.a.pd.CreateQP(verbs.QPOptions{Type: verbs.RC, SendCQ: p.a.cq, RecvCQ: small})
	must(t, err)
	must(t, bystander.Prepare())
	peer, err := p.b.pd.CreateQP(verbs.QPOptions{Type: verbs.RC, SendCQ: p.b.cq})
	must(t, err)
	local, remote := qp.Params(), peer.Params()
	must(t, qp.Connect(remote))
	must(t, peer.Connect(local))
	for id := range uint64(6) {
		wr := p.write(id)
		must(t, qp.PostSend(&wr))
	}
	if e := p.a.wantEvent(verbs.EventCQErr); e.CQ != small {
		t.Fatalf("event %+v", e)
	}
	if qp.State() != verbs.Err || bystander.State() != verbs.Err || p.a.qp.State() != verbs.RTS {
		t.Fatalf("states %v %v %v", qp.State(), bystander.State(), p.a.qp.State())
	}
	var out [8]verbs.Completion
	n, err := small.Poll(out[:])
	if n != 4 || err != nil {
		t.Fatalf("%d completions, %v; want the four that fitted", n, err)
	}
	for i, c := range out[:n] {
		if c.WRID != uint64(i) {
			t.Fatalf("completion %d is of %d", i, c.WRID)
		}
	}
	if _, err := small.Poll(out[:]); !errors.Is(err, verbs.ErrCQOverflow) {
		t.Fatalf("poll after overflow: %v", err)
	}
	if _, err := small.Wait(context.Background(), out[:]); !errors.Is(err, verbs.ErrCQOverflow) {
		t.Fatalf("wait after overflow: %v", err)
	}
	if small.Lost() != 2 {
		t.Fatalf("%d lost, want 2", small.Lost())
	}
	if _, err := p.a.pd.CreateQP(verbs.QPOptions{SendCQ: small}); !errors.Is(err, verbs.ErrAttr) {
		t.Fatalf("queue pair on a broken queue: %v", err)
	}
}

func TestWaitSolicited(t *testing.T) {
	p := newPair(t, verbs.QPOptions{Type: verbs.RC})
	for id := range uint64(3) {
		must(t, p.b.qp.PostRecv(&verbs.RecvWR{ID: id, SGEs: p.b.sge(0, 8)}))
	}
	p.a.post(verbs.SendWR{ID: 1, Op: verbs.OpSend, Inline: []byte{1}})
	p.a.wantDone(1, verbs.OpSend)
	short, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	var out [4]verbs.Completion
	if n, err := p.b.cq.WaitSolicited(short, out[:]); n != 0 || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("an unsolicited message woke: %d, %v", n, err)
	}
	p.a.post(verbs.SendWR{ID: 2, Op: verbs.OpSend, Flags: verbs.Solicited, Inline: []byte{2}})
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	n, err := p.b.cq.WaitSolicited(ctx, out[:])
	if n != 2 || err != nil || out[0].WRID != 0 || !out[1].Solicited {
		t.Fatalf("%d %v %+v", n, err, out[:n])
	}
	// A failure wakes as a solicited message does.
	must(t, p.b.qp.Modify(verbs.Err, nil))
	n, err = p.b.cq.WaitSolicited(ctx, out[:])
	if n != 1 || err != nil || out[0].Status != transport.WRFlushErr {
		t.Fatalf("%d %v %+v", n, err, out[:n])
	}
}

// Several threads post and several poll; each completion is seen once.
func TestConcurrentPostersAndPollers(t *testing.T) {
	const posters, each = 4, 200
	p := newPair(t, verbs.QPOptions{Type: verbs.MP, SendDepth: 8})
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var threads sync.WaitGroup
	for poster := range uint64(posters) {
		threads.Go(func() {
			for i := uint64(0); i < each; {
				wr := p.write(poster*each + i)
				switch err := p.a.qp.PostSend(&wr); {
				case err == nil:
					i++
				case errors.Is(err, verbs.ErrQueueFull):
					time.Sleep(10 * time.Microsecond)
				default:
					t.Error(err)
					return
				}
			}
		})
	}
	var mu sync.Mutex
	seen := make(map[uint64]int)
	pollers, stop := context.WithCancel(ctx)
	defer stop()
	for range 2 {
		threads.Go(func() {
			var out [16]verbs.Completion
			for {
				n, err := p.a.cq.Wait(pollers, out[:])
				if err != nil {
					return
				}
				mu.Lock()
				for _, c := range out[:n] {
					if c.Err() != nil {
						t.Error(c.Err())
					}
					seen[c.WRID]++
				}
				if len(seen) == posters*each {
					stop()
				}
				mu.Unlock()
			}
		})
	}
	threads.Wait()
	for id := range uint64(posters * each) {
		if seen[id] != 1 {
			t.Fatalf("request %d completed %d times", id, seen[id])
		}
	}
}
