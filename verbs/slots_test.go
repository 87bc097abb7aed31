package verbs_test

import (
	"errors"
	"testing"

	"github.com/braid-rdma/braid/verbs"
)

// A program that posts until the queue is full and only then polls cannot
// overflow a completion queue as deep as the work queue, whether it asks for
// every completion or for some.
func TestPostUntilFullNeverOverflows(t *testing.T) {
	const depth, requests = 8, 500
	for _, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
		for _, every := range []uint64{1, 3, depth} {
			p := newPair(t, verbs.QPOptions{Type: kind})
			cq, err := p.a.dev.CreateCQ(depth)
			must(t, err)
			qp, err := p.a.pd.CreateQP(verbs.QPOptions{Type: kind, SendCQ: cq, SendDepth: depth})
			must(t, err)
			peer, err := p.b.pd.CreateQP(verbs.QPOptions{Type: kind, SendCQ: p.b.cq})
			must(t, err)
			local, remote := qp.Params(), peer.Params()
			must(t, qp.Connect(remote))
			must(t, peer.Connect(local))
			var out [depth + 1]verbs.Completion
			for id, want := uint64(1), every; want <= requests; {
				wr := p.write(id)
				if id%every != 0 {
					wr.Flags = 0
				}
				err := qp.PostSend(&wr)
				if err == nil {
					id++
					continue
				}
				if !errors.Is(err, verbs.ErrQueueFull) {
					t.Fatal(err)
				}
				n, err := cq.Poll(out[:])
				if err != nil {
					t.Fatalf("%v, one completion in %d: %v", kind, every, err)
				}
				for _, c := range out[:n] {
					if c.WRID != want || c.Err() != nil {
						t.Fatalf("%v: completion %+v, want %d", kind, c, want)
					}
					want += every
				}
			}
		}
	}
}

// Requests that ask for no completion need no polling.
func TestUnsignalledStream(t *testing.T) {
	connected(t, func(t *testing.T, p *pair) {
		const requests = 1000
		for id := uint64(1); id <= requests; {
			wr := p.write(id)
			if id < requests {
				wr.Flags = 0
			}
			switch err := p.a.qp.PostSend(&wr); {
			case err == nil:
				id++
			case errors.Is(err, verbs.ErrQueueFull):
				p.a.dev.Progress()
			default:
				t.Fatal(err)
			}
		}
		p.a.wantDone(requests, verbs.OpWrite)
		p.a.wantIdle()
	})
}

// Receives that completed count until they are polled, too.
func TestReceiveSlotsAreFreedByPolling(t *testing.T) {
	p := newPair(t, verbs.QPOptions{Type: verbs.RC, RecvDepth: 2})
	receive := &verbs.RecvWR{SGEs: p.b.sge(0, 8)}
	must(t, p.b.qp.PostRecv(receive))
	must(t, p.b.qp.PostRecv(receive))
	for id := range uint64(2) {
		p.a.post(verbs.SendWR{ID: id, Op: verbs.OpSend, Inline: []byte{1}})
		p.a.wantDone(id, verbs.OpSend)
	}
	if err := p.b.qp.PostRecv(receive); !errors.Is(err, verbs.ErrQueueFull) {
		t.Fatalf("a third receive before polling: %v", err)
	}
	p.b.wantDone(0, verbs.OpRecv)
	must(t, p.b.qp.PostRecv(receive))
	if err := p.b.qp.PostRecv(receive); !errors.Is(err, verbs.ErrQueueFull) {
		t.Fatalf("a fourth receive after one was polled: %v", err)
	}
}

// Nor does one that posts more than the queue holds, in one go, when the queue pair is in error: each
// request that is taken completes as flushed, the others are refused, and bystanders do not notice.
func TestPostToErrorNeverOverflows(t *testing.T) {
	const sends, receives = 4, 6
	for _, kind := range []verbs.QPType{verbs.RC, verbs.MP, verbs.UD} {
		t.Run(kind.String(), func(t *testing.T) {
			p := newPair(t, verbs.QPOptions{Type: kind})
			cq, err := p.a.dev.CreateCQ(sends + receives)
			must(t, err)
			qp, err := p.a.pd.CreateQP(verbs.QPOptions{Type: kind, SendCQ: cq, SendDepth: sends, RecvDepth: receives})
			must(t, err)
			must(t, qp.Modify(verbs.Err, nil))
			wr := verbs.SendWR{Op: verbs.OpSend, Inline: []byte{1}}
			wr.AH, err = p.a.pd.CreateAH(p.b.dev.Query().Local)
			must(t, err)
			var out [sends + receives + 1]verbs.Completion
			for range 3 {
				var taken int
				for err = nil; err == nil && taken <= sends; taken++ {
					err = qp.PostSendMore(&wr)
				}
				if !errors.Is(err, verbs.ErrQueueFull) || taken != sends+1 {
					t.Fatalf("%d sends one by one: %v; want that the last of %d is refused", taken, err, sends+1)
				}
				if n, err := qp.PostRecvs(make([]verbs.RecvWR, 3*receives)); n != receives || !errors.Is(err, verbs.ErrQueueFull) {
					t.Fatalf("%d receives taken, %v; want %d and no room for more", n, err, receives)
				}
				wantFlushed(t, cq, out[:], sends+receives)
				batch := []verbs.SendWR{wr, wr, wr, wr, wr, wr}
				if n, err := qp.PostSends(batch); n != sends || !errors.Is(err, verbs.ErrQueueFull) {
					t.Fatalf("%d sends of a batch taken, %v; want %d and no room for more", n, err, sends)
				}
				wantFlushed(t, cq, out[:], sends)
			}
		})
	}
}

// wantFlushed expects n completions, and that their requests were flushed.
func wantFlushed(t *testing.T, cq *verbs.CQ, out []verbs.Completion, n int) {
	t.Helper()
	if got, err := cq.Poll(out); got != n || err != nil {
		t.Fatalf("%d completions, %v; want %d", got, err, n)
	}
	for _, c := range out[:n] {
		if !errors.Is(c.Err(), verbs.ErrFlushed) {
			t.Fatalf("completion %+v, want a flushed one", c)
		}
	}
	if got, err := cq.Poll(out); got != 0 || err != nil {
		t.Fatalf("%d further completions, %v", got, err)
	}
}
