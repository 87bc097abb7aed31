//go:build ibverbs && linux && cgo

package ibverbs

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/braid-rdma/braid/bundle"
	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/verbs"
)

// host is a device with a connection manager.
type host struct {
	manager *cm.Manager
	pd      *verbs.PD
	mr      *verbs.MR
}

func newHost(t *testing.T, which int) *host {
	t.Helper()
	d := openDevice(t, which, Config{})
	h := &host{}
	var err error
	h.manager, err = cm.New(d, cm.Config{})
	must(t, err)
	t.Cleanup(func() { h.manager.Close() })
	h.pd, err = d.CreatePD()
	must(t, err)
	h.mr, err = h.pd.AllocMemory(memorySize, allRights)
	must(t, err)
	return h
}

// accept runs f in the background, as the other side of a connection does.
func accept[T any](f func() (T, error)) func(t *testing.T) T {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := f()
		done <- result{value, err}
	}()
	return func(t *testing.T) T {
		t.Helper()
		r := <-done
		must(t, r.err)
		return r.value
	}
}

// The connection manager connects two devices by address and port, refuses where nobody
// listens, and tells when the peer closes.
func TestConnectionManager(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	a, b := newHost(t, 0), newHost(t, 1)
	cqa, err := a.manager.Device().CreateCQ(256)
	must(t, err)
	cqb, err := b.manager.Device().CreateCQ(256)
	must(t, err)
	l, err := b.manager.Listen(0)
	must(t, err)
	// MP is asked for, and RC is what a NIC has.
	accepted := accept(func() (*cm.Conn, error) {
		return l.Accept(ctx, cm.Options{PD: b.pd, QP: verbs.QPOptions{Type: verbs.MP, SendCQ: cqb}})
	})
	dialed, err := a.manager.Dial(ctx, l.Addr().String(), cm.Options{PD: a.pd, QP: verbs.QPOptions{Type: verbs.MP, SendCQ: cqa}})
	must(t, err)
	peer := accepted(t)
	if dialed.QP().Type() != verbs.RC || peer.QP().Type() != verbs.RC {
		t.Errorf("queue pairs of type %v and %v, want RC", dialed.QP().Type(), peer.QP().Type())
	}
	x, y := &end{t, a.pd, cqa, dialed.QP(), a.mr}, &end{t, b.pd, cqb, peer.QP(), b.mr}
	x.fill(5000, 7)
	x.post(y, verbs.SendWR{Op: verbs.OpWrite}, 5000)
	x.want(0, verbs.OpWrite, nil)
	y.wantBytes("WRITE", pattern(5000, 7))
	must(t, dialed.Close())
	<-peer.Done()
	if !errors.Is(peer.Err(), cm.ErrPeerClosed) {
		t.Errorf("the peer of a connection that was closed: %v", peer.Err())
	}

	must(t, l.Close())
	if _, err := a.manager.Dial(ctx, l.Addr().String(), cm.Options{PD: a.pd, QP: verbs.QPOptions{SendCQ: cqa}}); !errors.Is(err, cm.ErrRefused) {
		t.Errorf("where nobody listens: %v", err)
	}
	if _, err := cm.New(openDevice(t, 0, Config{}), cm.Config{}); err == nil {
		t.Error("two managers at one address")
	}
}

// One connection over four RC queue pairs of the NIC.
func TestBundle(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	a, b := newHost(t, 0), newHost(t, 1)
	l, err := bundle.Listen(b.manager, 0, bundle.Config{PD: b.pd})
	must(t, err)
	defer l.Close()
	accepted := accept(func() (*bundle.Conn, error) { return l.Accept(ctx) })
	x, err := bundle.Dial(ctx, a.manager, l.Addr().String(), bundle.Config{PD: a.pd, QueuePairs: 4})
	must(t, err)
	defer x.Close()
	y := accepted(t)
	defer y.Close()

	const length = 1 << 20
	local, remote := bundle.Buffer{MR: a.mr, Length: length}, bundle.Remote{Addr: b.mr.Addr(), RKey: b.mr.RKey()}
	copy(a.mr.Bytes(), pattern(length, 1))
	must(t, x.Write(ctx, local, remote))
	wantMemory(t, "WRITE", b.mr, pattern(length, 1))
	must(t, b.mr.Store(0, pattern(length, 2)))
	must(t, x.Read(ctx, local, remote))
	wantMemory(t, "READ", a.mr, pattern(length, 2))
	for i, size := range []int{100, length} {
		seed := byte(3 + i)
		copy(a.mr.Bytes(), pattern(size, seed))
		received := accept(func() (int, error) { return y.Receive(ctx, bundle.Buffer{MR: b.mr, Length: memorySize}) })
		must(t, x.Send(ctx, bundle.Buffer{MR: a.mr, Length: size}))
		if n := received(t); n != size {
			t.Errorf("SEND of %d bytes arrives as %d", size, n)
		}
		wantMemory(t, "SEND", b.mr, pattern(size, seed))
	}
	if s := x.Stats(); s.QueuePairs != 4 || s.Up != 4 || s.Repairs != 0 {
		t.Errorf("%+v, want 4 queue pairs that work", s)
	}

	// A queue pair that fails is replaced, and the program does not notice.
	breakOne(t, a.manager.Device())
	for seed := byte(0); x.Stats().Repairs == 0; seed++ {
		copy(a.mr.Bytes(), pattern(length, seed))
		must(t, x.Write(ctx, local, remote))
		wantMemory(t, "WRITE", b.mr, pattern(length, seed))
	}
}

// breakOne has the NIC move a queue pair to the error state, without telling the engine.
func breakOne(t *testing.T, d *verbs.Device) {
	t.Helper()
	e := d.Engine().(*engine)
	e.Lock()
	defer e.Unlock()
	for _, q := range e.qps {
		q.flushAgain()
		return
	}
	t.Fatal("there is no queue pair to break")
}

func wantMemory(t *testing.T, what string, m *verbs.MR, want []byte) {
	t.Helper()
	got := make([]byte, len(want))
	must(t, m.Load(0, got))
	if !bytes.Equal(got, want) {
		t.Errorf("%s: the bytes differ", what)
	}
}
