//go:build ibverbs && linux && cgo

package ibverbs

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/braid-rdma/braid/verbs"
)

// Threads wait on completion queues of their own while others poll, and while queue
// pairs come and go: nobody sleeps past a completion.
func TestManyThreads(t *testing.T) {
	const rounds = 100
	da, db := openDevices(t)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var threads sync.WaitGroup
	for i := range 4 {
		a, b := newSmallEnd(t, da), newSmallEnd(t, db)
		connect(t, a, b)
		for range 8 {
			a.recv(0, 64)
			b.recv(0, 64)
		}
		threads.Go(func() { bounce(ctx, t, a, rounds, true, i%2 == 0) })
		threads.Go(func() { bounce(ctx, t, b, rounds, false, i%2 == 0) })
	}
	threads.Go(func() {
		for range rounds / 10 {
			q, err := newSmallQP(da)
			if err != nil {
				t.Error(err)
				return
			}
			q.Close()
		}
	})
	threads.Wait()
}

// bounce is one side of a ping-pong, by a thread that waits or one that polls.
func bounce(ctx context.Context, t *testing.T, e *end, rounds int, first, waits bool) {
	var done [4]verbs.Completion
	sent, received := 0, 0
	send := func() error {
		sent++
		return e.qp.PostSend(&verbs.SendWR{Op: verbs.OpSend, Inline: fmt.Append(nil, sent)})
	}
	if first {
		if err := send(); err != nil {
			t.Error(err)
			return
		}
	}
	for received < rounds {
		n, err := e.cq.Poll(done[:])
		if n == 0 && waits && err == nil {
			n, err = e.cq.Wait(ctx, done[:])
		}
		if err == nil {
			err = ctx.Err()
		}
		for _, c := range done[:n] {
			received++
			if err == nil {
				err = c.Err()
			}
			if err == nil {
				err = e.qp.PostRecv(&verbs.RecvWR{SGEs: []verbs.SGE{e.mr.SGE(0, 64)}})
			}
			if err == nil && sent < rounds {
				err = send()
			}
		}
		if err != nil {
			t.Errorf("after %d messages: %v", received, err)
			return
		}
	}
}

// newSmallQP is a queue pair with all that it needs, which goes with it.
func newSmallQP(d *verbs.Device) (*verbs.QP, error) {
	pd, err := d.CreatePD()
	if err != nil {
		return nil, err
	}
	cq, err := d.CreateCQ(256)
	if err != nil {
		return nil, err
	}
	return pd.CreateQP(verbs.QPOptions{SendCQ: cq})
}
