package verbs_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/braid-rdma/braid/internal/loopnet"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// writeUntilFailure keeps writes to b's region in flight until one fails, and
// returns its status.
func (p *pair) writeUntilFailure(size int) verbs.Status {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var out [16]verbs.Completion
	for {
		wr := verbs.SendWR{Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: p.a.sge(0, size), RemoteAddr: p.b.mr.Addr(), RKey: p.b.mr.RKey()}
		err := p.a.qp.PostSend(&wr)
		if err != nil && !errors.Is(err, verbs.ErrQueueFull) {
			p.t.Errorf("post: %v", err)
			return transport.GeneralErr
		}
		// A queue pair in the error state takes requests for ever, so look for the
		// failure after each; block only when there is no room for another.
		var n int
		if err == nil {
			n, err = p.a.cq.Poll(out[:])
		} else {
			n, err = p.a.cq.Wait(ctx, out[:])
		}
		if err != nil {
			p.t.Errorf("wait: %v", err)
			return transport.GeneralErr
		}
		for _, c := range out[:n] {
			if c.Status != transport.Success {
				return c.Status
			}
		}
	}
}

// When Deregister returns no later write can happen: the plain writes after it
// would be a race with the engine, which the race detector reports, and would
// not stay.
func TestDeregisterWaits(t *testing.T) {
	for _, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
		t.Run(kind.String(), func(t *testing.T) {
			p := newPair(t, verbs.QPOptions{Type: kind, SendDepth: 4})
			for i := range p.a.mr.Bytes() {
				p.a.mr.Bytes()[i] = 0xaa
			}
			var writer sync.WaitGroup
			var status verbs.Status
			writer.Go(func() { status = p.writeUntilFailure(20000) })
			for v := uint64(0); v == 0; {
				v, _ = p.b.mr.LoadUint64(0)
			}
			must(t, p.b.mr.Deregister())
			clear(p.b.mr.Bytes())
			writer.Wait()
			if status != transport.RemAccessErr {
				t.Errorf("the writer saw %v", status)
			}
			for i, b := range p.b.mr.Bytes() {
				if b != 0 {
					t.Fatalf("byte %d was written after Deregister returned", i)
				}
			}
		})
	}
}

// Memory that was deregistered is the program's alone, also for the collector: an idle queue pair keeps none of
// what was last posted to it.
func TestDeregisterFreesMemory(t *testing.T) {
	connected(t, func(t *testing.T, p *pair) {
		freed := make(chan struct{})
		func() {
			buf := make([]byte, 1<<20)
			runtime.AddCleanup(&buf[0], func(freed chan struct{}) { close(freed) }, freed)
			mr, err := p.a.pd.RegisterMemory(buf, verbs.LocalWrite)
			must(t, err)
			must(t, p.a.qp.PostRecv(&verbs.RecvWR{ID: 1, SGEs: []verbs.SGE{mr.SGE(60000, 8)}}))
			p.b.post(verbs.SendWR{ID: 2, Op: verbs.OpSend, Inline: []byte{1}})
			p.b.wantDone(2, verbs.OpSend)
			p.a.wantDone(1, verbs.OpRecv)
			p.a.post(verbs.SendWR{ID: 3, Op: verbs.OpWrite, SGEs: []verbs.SGE{mr.SGE(0, 60000)}, RemoteAddr: p.b.mr.Addr(), RKey: p.b.mr.RKey()})
			p.a.wantDone(3, verbs.OpWrite)
			must(t, mr.Deregister())
			clear(mr.Bytes())
		}()
		for range 100 {
			runtime.GC()
			select {
			case <-freed:
				return
			case <-time.After(10 * time.Millisecond): // cleanups run by themselves
			}
		}
		t.Error("the memory is kept")
	})
}

// Snapshot beside a writer sees each packet's payload wholly or not at all.
func TestSnapshotBesideWriter(t *testing.T) {
	const rounds, size = 200, 1024
	p := newPair(t, verbs.QPOptions{Type: verbs.MP, SignalAll: true})
	var reader sync.WaitGroup
	stop := make(chan struct{})
	reader.Go(func() {
		got := make([]byte, size)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := p.b.mr.Load(0, got); err != nil {
				t.Error(err)
				return
			}
			for i := range got {
				if got[i] != got[0] {
					t.Errorf("bytes of two packets: %d at 0, %d at %d", got[0], got[i], i)
					return
				}
			}
		}
	})
	for round := range rounds {
		src := p.a.mr.Bytes()[:size]
		for i := range src {
			src[i] = byte(round)
		}
		p.a.post(verbs.SendWR{ID: uint64(round), Op: verbs.OpWrite, SGEs: p.a.sge(0, size), RemoteAddr: p.b.mr.Addr(), RKey: p.b.mr.RKey()})
		p.a.wantDone(uint64(round), verbs.OpWrite)
	}
	close(stop)
	reader.Wait()
}

// Queue pairs come and go amid traffic; nothing of them is left.
func TestCreateAndDestroyUnderTraffic(t *testing.T) {
	n := loopnet.New(loopnet.Options{})
	a := newSide(t, n, verbs.QPOptions{Type: verbs.RC})
	b := newSide(t, n, verbs.QPOptions{Type: verbs.RC})
	for i := range 200 {
		kind := verbs.QPType(i % 2)
		qa, err := a.pd.CreateQP(verbs.QPOptions{Type: kind, SendCQ: a.cq})
		must(t, err)
		qb, err := b.pd.CreateQP(verbs.QPOptions{Type: kind, SendCQ: b.cq})
		must(t, err)
		pa, pb := qa.Params(), qb.Params()
		must(t, qa.Connect(pb))
		must(t, qb.Connect(pa))
		const requests = 5
		for id := range uint64(requests) {
			must(t, qa.PostSend(&verbs.SendWR{ID: id, Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: a.sge(0, 10000), RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey()}))
		}
		must(t, qa.Close())
		for id := range uint64(requests) {
			if c := a.wait(); c.WRID != id || c.QPN != pa.QPN {
				t.Fatalf("completion %+v, want request %d of %v", c, id, pa.QPN)
			}
		}
		a.wantIdle()
		must(t, qb.Close())
	}
	if q := a.dev.Query(); q.QPs != 1 {
		t.Fatalf("%d queue pairs left, want 1", q.QPs)
	}
}
