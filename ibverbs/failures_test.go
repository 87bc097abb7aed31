//go:build ibverbs && linux && cgo

package ibverbs

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/braid-rdma/braid/verbs"
)

func TestNoSuchDevice(t *testing.T) {
	for _, cfg := range []Config{{Device: "none"}, {Addr: netip.MustParseAddr("192.0.2.1")}} {
		if d, err := Open(cfg); !errors.Is(err, ErrNoDevice) {
			t.Errorf("%+v: %v, %v", cfg, d, err)
		}
	}
}

// A refused access ends the connection, and everything after it is flushed.
func TestRefusedAccess(t *testing.T) {
	da, db := openDevices(t)
	for _, c := range []struct {
		what string
		make func(b *end) verbs.SendWR
	}{
		{"a wrong key", func(b *end) verbs.SendWR {
			return verbs.SendWR{Op: verbs.OpWrite, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey() ^ 0x5500}
		}},
		{"beyond the end", func(b *end) verbs.SendWR {
			return verbs.SendWR{Op: verbs.OpRead, RemoteAddr: b.mr.Addr() + memorySize - 4, RKey: b.mr.RKey()}
		}},
		{"a right that is missing", func(b *end) verbs.SendWR {
			readable, err := b.pd.AllocMemory(4096, verbs.RemoteRead)
			must(t, err)
			return verbs.SendWR{Op: verbs.OpWrite, RemoteAddr: readable.Addr(), RKey: readable.RKey()}
		}},
		{"memory that was deregistered", func(b *end) verbs.SendWR {
			gone, err := b.pd.AllocMemory(4096, allRights)
			must(t, err)
			wr := verbs.SendWR{Op: verbs.OpWrite, RemoteAddr: gone.Addr(), RKey: gone.RKey()}
			must(t, gone.Deregister())
			return wr
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			a, b := newEnd(t, da, verbs.QPOptions{}), newEnd(t, db, verbs.QPOptions{})
			connect(t, a, b)
			failed := make(chan error, 1)
			a.qp.OnFailure(func(cause error) { failed <- cause })
			a.recv(1, 64)
			wr := c.make(b)
			wr.ID = 2
			a.post(b, wr, 8)
			a.want(2, wr.Op, verbs.ErrRemoteAccess)
			a.want(1, verbs.OpRecv, verbs.ErrFlushed)
			if cause := <-failed; !errors.Is(cause, verbs.ErrRemoteAccess) {
				t.Errorf("the queue pair failed by %v", cause)
			}
			if s := a.qp.State(); s != verbs.Err {
				t.Errorf("state %v", s)
			}
			a.post(b, verbs.SendWR{ID: 3, Op: verbs.OpSend}, 8)
			a.want(3, verbs.OpSend, verbs.ErrFlushed)
			a.recv(4, 64)
			a.want(4, verbs.OpRecv, verbs.ErrFlushed)
			b.wantBytes("memory that must not change", make([]byte, 64))
		})
	}
}

// A queue pair can be used again after its failure.
func TestResetAndConnectAgain(t *testing.T) {
	a, b := newPair(t, verbs.QPOptions{})
	a.post(b, verbs.SendWR{ID: 1, Op: verbs.OpWrite, RemoteAddr: b.mr.Addr(), RKey: 1}, 8)
	a.want(1, verbs.OpWrite, verbs.ErrRemoteAccess)
	a.recv(9, 64) // is forgotten
	must(t, a.qp.Modify(verbs.Reset, nil))
	must(t, b.qp.Modify(verbs.Reset, nil))
	for _, e := range []*end{a, b} {
		var old [16]verbs.Completion // flushed before the reset, or not at all
		if n, err := e.cq.Poll(old[:]); err != nil || slices.ContainsFunc(old[:n], func(c verbs.Completion) bool { return c.Err() == nil }) {
			t.Errorf("%v: %+v", err, old[:n])
		}
	}
	connect(t, a, b)
	b.recv(2, 64)
	a.post(b, verbs.SendWR{ID: 3, Op: verbs.OpSend}, 8)
	a.want(3, verbs.OpSend, nil)
	b.want(2, verbs.OpRecv, nil)
}

func TestReceiverNotReady(t *testing.T) {
	a, b := newPair(t, verbs.QPOptions{Conn: verbs.ConnOptions{RNRRetry: 2, MinRNRTimer: 10 * time.Microsecond}})
	a.post(b, verbs.SendWR{ID: 1, Op: verbs.OpSend}, 8)
	a.want(1, verbs.OpSend, verbs.ErrRNRRetryExceeded)

	a, b = newPair(t, verbs.QPOptions{Conn: verbs.ConnOptions{MinRNRTimer: 10 * time.Millisecond}})
	a.post(b, verbs.SendWR{ID: 1, Op: verbs.OpSend}, 8)
	a.wantNothing()
	b.recv(2, 64)
	a.want(1, verbs.OpSend, nil)
	b.want(2, verbs.OpRecv, nil)
}

func TestPeerThatIsGone(t *testing.T) {
	a, b := newPair(t, verbs.QPOptions{Conn: verbs.ConnOptions{AckTimeout: 10 * time.Millisecond, RetryCount: 2}})
	must(t, b.qp.Close())
	a.post(b, verbs.SendWR{ID: 1, Op: verbs.OpWrite}, 8)
	a.want(1, verbs.OpWrite, verbs.ErrRetryExceeded)
}

// Close completes what is outstanding, once, and says nothing of what has succeeded.
func TestCloseFlushes(t *testing.T) {
	a, b := newPair(t, verbs.QPOptions{})
	for range 3 { // not signalled
		must(t, a.qp.PostSend(&verbs.SendWR{Op: verbs.OpWrite, SGEs: []verbs.SGE{a.mr.SGE(0, 8)}, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey()}))
	}
	a.post(b, verbs.SendWR{ID: 1, Op: verbs.OpRead}, 8)
	a.want(1, verbs.OpRead, nil)
	for range 3 {
		must(t, a.qp.PostSend(&verbs.SendWR{Op: verbs.OpWrite, SGEs: []verbs.SGE{a.mr.SGE(0, 8)}, RemoteAddr: b.mr.Addr() + 64, RKey: b.mr.RKey()}))
	}
	// They are acknowledged when the peer's reply to a later message is here.
	b.recv(2, 64)
	a.recv(3, 64)
	must(t, a.qp.PostSend(&verbs.SendWR{Op: verbs.OpSend, Inline: []byte("last")}))
	b.want(2, verbs.OpRecv, nil)
	b.post(a, verbs.SendWR{ID: 4, Op: verbs.OpSend}, 8)
	b.want(4, verbs.OpSend, nil)
	a.want(3, verbs.OpRecv, nil)
	for id := range uint64(3) {
		a.recv(10+id, 64)
	}
	must(t, a.qp.Close())
	for id := range uint64(3) {
		a.want(10+id, verbs.OpRecv, verbs.ErrFlushed)
	}
	a.wantNothing()

	// A request that cannot have succeeded is flushed.
	must(t, b.qp.PostSend(&verbs.SendWR{ID: 20, Op: verbs.OpWrite, SGEs: []verbs.SGE{b.mr.SGE(0, 8)}, RemoteAddr: a.mr.Addr(), RKey: a.mr.RKey()}))
	must(t, b.qp.Close())
	b.want(20, verbs.OpWrite, verbs.ErrFlushed)
	b.wantNothing()
}

// What verbs refuses on other engines it refuses here, before the NIC sees it.
func TestBadRequests(t *testing.T) {
	a, b := newPair(t, verbs.QPOptions{SendDepth: 4, RecvDepth: 2, MaxSendSGE: 2})
	foreign, err := b.pd.AllocMemory(64, allRights)
	must(t, err)
	readOnly, err := a.pd.AllocMemory(64, 0)
	must(t, err)
	at := func(wr verbs.SendWR) *verbs.SendWR {
		wr.RemoteAddr, wr.RKey = b.mr.Addr(), b.mr.RKey()
		return &wr
	}
	for _, c := range []struct {
		wr   verbs.SendWR
		want error
	}{
		{verbs.SendWR{Op: verbs.OpWrite, SGEs: []verbs.SGE{a.mr.SGE(memorySize-4, 8)}}, verbs.ErrRange},
		{verbs.SendWR{Op: verbs.OpWrite, SGEs: []verbs.SGE{foreign.All()}}, verbs.ErrForeign},
		{verbs.SendWR{Op: verbs.OpRead, SGEs: []verbs.SGE{readOnly.All()}}, verbs.ErrLocalAccess},
		{verbs.SendWR{Op: verbs.OpFetchAdd, SGEs: []verbs.SGE{a.mr.SGE(0, 4)}}, verbs.ErrAtomicShape},
		{verbs.SendWR{Op: verbs.OpWrite, SGEs: []verbs.SGE{a.mr.SGE(0, 4), a.mr.SGE(0, 4), a.mr.SGE(0, 4)}}, verbs.ErrTooManySGE},
		{verbs.SendWR{Op: verbs.OpWrite, Inline: make([]byte, 2000)}, verbs.ErrInline},
		{verbs.SendWR{Op: verbs.OpSendInv}, verbs.ErrOperation},
		{verbs.SendWR{Op: verbs.OpRecv}, verbs.ErrOperation},
	} {
		if err := a.qp.PostSend(at(c.wr)); !errors.Is(err, c.want) {
			t.Errorf("%v %v: %v, want %v", c.wr.Op, c.wr.SGEs, err, c.want)
		}
	}
	a.recv(1, 8)
	a.recv(2, 8)
	if err := a.qp.PostRecv(&verbs.RecvWR{}); !errors.Is(err, verbs.ErrQueueFull) {
		t.Errorf("a third receive in a queue of two: %v", err)
	}
	if err := a.qp.Modify(verbs.RTR, &verbs.QPAttr{Remote: b.pd.Device().Query().Local}); !errors.Is(err, verbs.ErrState) {
		t.Errorf("RTS to RTR: %v", err)
	}
	// The connection is not the worse for it.
	a.post(b, verbs.SendWR{ID: 3, Op: verbs.OpWrite}, 8)
	a.want(3, verbs.OpWrite, nil)
}

func TestWhatANICDoesNotHave(t *testing.T) {
	d := openDevice(t, 0, Config{})
	e := newEnd(t, d, verbs.QPOptions{})
	srq, err := e.pd.CreateSRQ(4, 1)
	must(t, err)
	for what, attempt := range map[string]func() error{
		"MP":             func() error { _, err := e.pd.CreateQP(verbs.QPOptions{Type: verbs.MP, SendCQ: e.cq}); return err },
		"a retype to MP": func() error { return e.qp.Retype(verbs.MP) },
		"a shared queue": func() error { _, err := e.pd.CreateQP(verbs.QPOptions{SendCQ: e.cq, SRQ: srq}); return err },
		"a rate control": func() error {
			o := verbs.QPOptions{SendCQ: e.cq}
			must(t, o.RC.ChooseRate("dcqcn", 1e9))
			_, err := e.pd.CreateQP(o)
			return err
		},
		"RemoteInvalidate": func() error { _, err := e.pd.AllocMemory(64, verbs.RemoteInvalidate); return err },
		"Rekey":            func() error { _, err := e.mr.Rekey(); return err },
	} {
		if err := attempt(); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// An idle peer is asked whether it lives; one that does not respond ends the connection.
func TestKeepalive(t *testing.T) {
	const silence = 50 * time.Millisecond
	a, b := newPair(t, verbs.QPOptions{Conn: verbs.ConnOptions{Keepalive: silence, AckTimeout: 10 * time.Millisecond, RetryCount: 3}})
	failed := make(chan error, 1)
	a.qp.OnFailure(func(cause error) { failed <- cause })
	for deadline := time.Now().Add(patience); a.qp.Stats().Keepalives < 3; time.Sleep(silence) {
		if time.Now().After(deadline) {
			t.Fatalf("%d questions", a.qp.Stats().Keepalives)
		}
	}
	a.wantNothing()
	if s := a.qp.State(); s != verbs.RTS {
		t.Fatalf("state %v although the peer lives", s)
	}
	must(t, b.qp.Close())
	select {
	case cause := <-failed:
		if !errors.Is(cause, verbs.ErrRetryExceeded) {
			t.Errorf("the queue pair failed by %v", cause)
		}
	case <-time.After(patience):
		t.Fatal("nobody noticed that the peer is gone")
	}
	a.wantNothing()

	a, b = newPair(t, verbs.QPOptions{Conn: verbs.ConnOptions{Keepalive: silence}})
	must(t, a.qp.SetKeepalive(verbs.None))
	before := a.qp.Stats().Keepalives
	for b.qp.Stats().Keepalives < 3 { // which it does meanwhile
		time.Sleep(silence)
	}
	if after := a.qp.Stats().Keepalives; after != before {
		t.Errorf("%d questions after they were turned off", after-before)
	}
}

// Threads that wait are woken by completions, by their context and by Close, without
// spinning and without anybody who polls.
func TestWaiting(t *testing.T) {
	da, db := openDevice(t, 0, Config{Spin: -1}), openDevice(t, 1, Config{Spin: -1})
	a, b := newEnd(t, da, verbs.QPOptions{}), newEnd(t, db, verbs.QPOptions{})
	connect(t, a, b)
	notify := b.cq.Notify()
	for id := range uint64(20) {
		b.recv(id, 64)
		a.post(b, verbs.SendWR{ID: id, Op: verbs.OpSend}, 8)
		a.want(id, verbs.OpSend, nil)
		select {
		case <-notify: // nobody polls at b
		case <-time.After(patience):
			t.Fatal("no notice of a completion")
		}
		b.want(id, verbs.OpRecv, nil)
		select {
		case <-notify: // one that came before the completion was taken
		default:
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	var done [1]verbs.Completion
	if _, err := a.cq.Wait(ctx, done[:]); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a wait in vain: %v", err)
	}
	ended := make(chan error)
	go func() {
		_, err := a.cq.Wait(context.Background(), done[:])
		ended <- err
	}()
	must(t, da.Close())
	if err := <-ended; !errors.Is(err, verbs.ErrClosed) {
		t.Errorf("a wait on a device that is closed: %v", err)
	}
}

// Queue pairs that come and go leave room in the NIC's completion queues.
func TestManyQueuePairs(t *testing.T) {
	a, b := openDevices(t)
	for range 3 {
		var ends []*end
		for range 16 {
			x, y := newSmallEnd(t, a), newSmallEnd(t, b)
			connect(t, x, y)
			ends = append(ends, x, y)
		}
		for i := 0; i < len(ends); i += 2 {
			ends[i+1].recv(uint64(i), 64)
			ends[i].post(ends[i+1], verbs.SendWR{ID: 1, Op: verbs.OpSend}, 8)
		}
		for i := 0; i < len(ends); i += 2 {
			ends[i].want(1, verbs.OpSend, nil)
			ends[i+1].want(uint64(i), verbs.OpRecv, nil)
		}
		for _, e := range ends {
			must(t, e.pd.Close())
		}
	}
	e := a.Engine().(*engine)
	e.Lock()
	defer e.Unlock()
	if len(e.domains) != 0 || len(e.qps) != 0 || len(e.cqs) != 1 || e.cqs[0].used != 0 {
		t.Errorf("%d domains, %d queue pairs, %d completion queues left", len(e.domains), len(e.qps), len(e.cqs))
	}
}

func newSmallEnd(t *testing.T, d *verbs.Device) *end {
	t.Helper()
	e := &end{t: t}
	var err error
	e.pd, err = d.CreatePD()
	must(t, err)
	e.cq, err = d.CreateCQ(256)
	must(t, err)
	e.mr, err = e.pd.AllocMemory(4096, allRights)
	must(t, err)
	e.qp, err = e.pd.CreateQP(verbs.QPOptions{SendCQ: e.cq})
	must(t, err)
	return e
}
