package oob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/braid-rdma/braid/internal/loopnet"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

func TestConnect(t *testing.T) {
	for _, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
		t.Run(kind.String(), func(t *testing.T) {
			a, b, sa, sb := connectedPair(t, kind)
			a.wantState(verbs.RTS)
			b.wantState(verbs.RTS)
			if remote := sb.Remote(); string(remote.PrivateData) != "from a" || len(remote.Regions) != 0 {
				t.Fatalf("b heard %+v", remote)
			}
			remote := sa.Remote()
			target, ok := remote.Region("target")
			if _, other := remote.Region("other"); !ok || other || target != RegionOf("target", b.mr) {
				t.Fatalf("a heard %+v", remote)
			}
			must(t, a.qp.PostSend(&verbs.SendWR{ID: 5, Op: verbs.OpWrite, Flags: verbs.Signaled, Inline: []byte("hello"), RemoteAddr: target.Addr, RKey: target.RKey}))
			var out [1]verbs.Completion
			_, err := a.cq.Wait(testContext(t), out[:])
			must(t, err)
			must(t, out[0].Err())
			got := make([]byte, 5)
			must(t, b.mr.Load(0, got))
			if string(got) != "hello" {
				t.Fatalf("memory holds %q", got)
			}
		})
	}
}

func TestSessionData(t *testing.T) {
	_, _, sa, sb := connectedPair(t, verbs.RC)
	want := bytes.Repeat([]byte("x"), MaxData)
	must(t, sa.Send(testContext(t), want))
	must(t, sa.Send(testContext(t), []byte("second")))
	got, err := sb.Receive(testContext(t))
	must(t, err)
	if !bytes.Equal(got, want) {
		t.Fatalf("%d bytes arrived", len(got))
	}
	if err := sa.Send(testContext(t), append(want, 'x')); !errors.Is(err, ErrTooLarge) {
		t.Fatalf("too much data: %v", err)
	}
	// What was sent before the goodbye is received after it.
	must(t, sa.Close())
	<-sb.Done()
	if got, err := sb.Receive(testContext(t)); err != nil || string(got) != "second" {
		t.Fatalf("%q, %v", got, err)
	}
	if _, err := sb.Receive(testContext(t)); !errors.Is(err, ErrPeerClosed) {
		t.Fatalf("receive after the end: %v", err)
	}
	if err := sb.Send(testContext(t), nil); !errors.Is(err, ErrPeerClosed) {
		t.Fatalf("send after the end: %v", err)
	}
}

func TestSessionFloodIsCutOff(t *testing.T) {
	_, b, sa, sb := connectedPair(t, verbs.RC)
	for range maxBacklog + 1 {
		_ = sa.Send(testContext(t), []byte("flood"))
	}
	<-sb.Done()
	if !errors.Is(sb.Err(), ErrTooLarge) {
		t.Fatalf("session ended with %v", sb.Err())
	}
	b.wantState(verbs.Err)
}

// When a session ends every outstanding request completes as flushed, on both
// sides, and each side knows why.
func TestSessionEndFlushes(t *testing.T) {
	for name, c := range map[string]struct {
		end          func(*Session)
		wantA, wantB error
	}{
		"goodbye": {func(s *Session) { s.Close() }, ErrClosed, ErrPeerClosed},
		"loss":    {func(s *Session) { s.conn.tcp.Close() }, ErrClosed, ErrPeerLost},
	} {
		t.Run(name, func(t *testing.T) {
			a, b, sa, sb := connectedPair(t, verbs.RC)
			if sa.Err() != nil || sb.Err() != nil {
				t.Fatal("ended too early")
			}
			must(t, b.qp.PostRecv(&verbs.RecvWR{ID: 1}))
			must(t, a.qp.PostRecv(&verbs.RecvWR{ID: 2}))
			c.end(sa)
			<-sa.Done()
			<-sb.Done()
			if !errors.Is(sa.Err(), c.wantA) || !errors.Is(sb.Err(), c.wantB) {
				t.Errorf("ended with %v and %v", sa.Err(), sb.Err())
			}
			for id, e := range map[uint64]*end{1: b, 2: a} {
				e.wantState(verbs.Err)
				var out [2]verbs.Completion
				if n, err := e.cq.Poll(out[:]); n != 1 || err != nil || out[0].WRID != id || out[0].Status != transport.WRFlushErr {
					t.Errorf("%d completions %+v, %v", n, out, err)
				}
			}
			must(t, sa.Close())
			must(t, sa.Close())
		})
	}
}

func TestTypesMustAgree(t *testing.T) {
	n := loopnet.New(loopnet.Options{})
	a, b := newEnd(t, n, verbs.RC), newEnd(t, n, verbs.MP)
	client, server := dialed(t)
	ra, rb := a.connect(client, Options{}), b.connect(server, Options{})
	if o := <-ra; !errors.Is(o.err, ErrRejected) {
		t.Errorf("client: %v", o.err)
	}
	if o := <-rb; !errors.Is(o.err, verbs.ErrParams) {
		t.Errorf("server: %v", o.err)
	}
	a.wantState(verbs.Reset)
	b.wantState(verbs.Reset)
}

func TestServerLooksThenRejects(t *testing.T) {
	a := newEnd(t, loopnet.New(loopnet.Options{}), verbs.RC)
	client, server := dialed(t)
	ra := a.connect(client, Options{PrivateData: []byte("secret")})
	p, err := server.Peer(testContext(t))
	must(t, err)
	if p.QPN != a.qp.Number() || string(p.PrivateData) != "secret" {
		t.Fatalf("parameters %+v", p)
	}
	must(t, server.Reject(testContext(t), "no such \x1b[31mservice"))
	o := <-ra
	if !errors.Is(o.err, ErrRejected) || bytes.ContainsRune([]byte(o.err.Error()), '\x1b') {
		t.Fatalf("client: %q", o.err)
	}
}

func TestConnectKeepsOthersState(t *testing.T) {
	a, b, sa, _ := connectedPair(t, verbs.RC)
	client, _ := dialed(t)
	if _, err := Connect(testContext(t), client, a.qp, Options{}); !errors.Is(err, verbs.ErrState) {
		t.Fatalf("second Connect of a queue pair: %v", err)
	}
	a.wantState(verbs.RTS)
	b.wantState(verbs.RTS)
	if sa.Err() != nil {
		t.Fatal(sa.Err())
	}
}

func TestConnectRefusesOwnBadOptions(t *testing.T) {
	addr := uint64(1 << 20)
	for name, o := range map[string]Options{
		"private data": {PrivateData: make([]byte, MaxPrivateData+1)},
		"regions":      {Regions: make([]Region, MaxRegions+1)},
		"empty region": {Regions: []Region{{Name: "r", Addr: addr}}},
		"same name":    {Regions: []Region{{"r", addr, 1, 1}, {"r", addr, 2, 1}}},
	} {
		a := newEnd(t, loopnet.New(loopnet.Options{}), verbs.RC)
		client, server := dialed(t)
		if o := <-a.connect(client, o); !errors.Is(o.err, ErrMalformed) {
			t.Errorf("%s: %v", name, o.err)
		}
		if _, err := server.Peer(testContext(t)); !errors.Is(err, ErrRejected) {
			t.Errorf("%s: the server hears %v", name, err)
		}
	}
}

func TestContextEndsHandshake(t *testing.T) {
	a := newEnd(t, loopnet.New(loopnet.Options{}), verbs.RC)
	client, _ := dialed(t)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, err := Connect(ctx, client, a.qp, Options{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	a.wantState(verbs.Reset)
}

// Regions of the largest number and name fit into a message.
func TestLargestHelloFits(t *testing.T) {
	p := Params{ConnParams: goodParams(), PrivateData: make([]byte, MaxPrivateData)}
	for i := range MaxRegions {
		name := fmt.Sprintf("%0*d", MaxRegionName, i)
		p.Regions = append(p.Regions, Region{name, 1<<63 - 1, 1<<32 - 1, verbs.MaxRegion})
	}
	b, err := message{Kind: kindHello, Params: toWire(&p)}.encode()
	must(t, err)
	m, err := decode(b)
	must(t, err)
	got, err := fromWire(m.Params)
	must(t, err)
	if len(got.Regions) != MaxRegions || got.Regions[9] != p.Regions[9] || got.ConnParams != p.ConnParams {
		t.Error("parameters changed on the way")
	}
}

func goodParams() verbs.ConnParams {
	return verbs.ConnParams{
		Type: verbs.MP, Addr: netip.MustParseAddr("192.0.2.7"), QPN: 0xabcdef, PSN: 0xfffff0,
		MTU: 4096, Paths: 4, TrackedSlots: 1024, Window: 512, ReadsServed: 16,
	}
}
