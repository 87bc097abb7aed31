package bundle

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/udp"
)

func nothingPasses(_, _ netip.Addr, _ *transport.Packet) bool { return false }

// quickEnd makes a peer count as lost soon.
func quickEnd(c *Config) {
	c.RepairTimeout, c.QP.Conn.Keepalive = 500*time.Millisecond, 100*time.Millisecond
}

// postSome posts requests of all kinds, and more bytes than are there at once.
func (s *side) postSome(peer *side) int {
	s.t.Helper()
	requests := []Request{
		{Op: OpWrite, Local: s.buffer(0, 1<<20), Remote: peer.at(0)},
		{Op: OpRead, Local: s.buffer(1<<20, 1<<20), Remote: peer.at(0)},
		{Op: OpSend, Local: s.buffer(0, 1<<20)},
		{Op: OpReceive, Local: s.buffer(2<<20, 1<<20)},
	}
	for _, r := range requests {
		must(s.t, s.conn.Post(r))
	}
	return len(requests)
}

// wantAllFailed expects the outcomes of n requests, the last of them with an error.
func (s *side) wantAllFailed(ctx context.Context, n int, want error) {
	s.t.Helper()
	failed := 0
	for range n {
		var out [1]Completion
		if _, err := s.conn.Wait(ctx, out[:]); err != nil {
			s.t.Fatal(err)
		}
		if err := out[0].Err; errors.Is(err, want) {
			failed++
		} else if err != nil {
			s.t.Errorf("%+v, want %v", out[0], want)
		}
	}
	if failed == 0 {
		s.t.Errorf("nothing failed, want %v", want)
	}
	if !errors.Is(s.conn.Err(), want) {
		s.t.Errorf("got %v, want %v", s.conn.Err(), want)
	}
}

// TestPeerLost: when nothing passes any more, all that is outstanding fails on both
// sides within the bound.
func TestPeerLost(t *testing.T) {
	a, b, n := loopPair(t)
	pair(t, a, b, 3, quickEnd)
	na, nb := a.postSome(b), b.postSome(a)
	n.SetFilter(nothingPasses)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	a.wantAllFailed(ctx, na, ErrPeerLost)
	b.wantAllFailed(ctx, nb, ErrPeerLost)
}

// TestPeerGrantsAndIsSilent: a peer whose connection manager grants one queue pair after the
// other, all of them dead, is lost too.
func TestPeerGrantsAndIsSilent(t *testing.T) {
	a, b, n := loopPair(t)
	pair(t, a, b, 2, func(c *Config) { c.RepairTimeout = 3 * time.Second }) // longer than the pauses of repair
	n.SetFilter(func(_, _ netip.Addr, p *transport.Packet) bool { return p.BTH.DestQP == 1 })
	must(t, a.conn.Post(Request{Op: OpWrite, Local: a.buffer(0, 1<<20), Remote: b.at(0)}))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	a.wantAllFailed(ctx, 1, ErrPeerLost)
}

// TestPeerIsBack: a peer that is out of reach for less than the bound is not lost.
func TestPeerIsBack(t *testing.T) {
	a, b, n := loopPair(t)
	pair(t, a, b, 3, func(c *Config) { c.RepairTimeout = 20 * time.Second })
	data := a.fill(0, 1<<20, 4)
	n.SetFilter(nothingPasses)
	must(t, a.conn.Post(Request{Op: OpWrite, Local: a.buffer(0, 1<<20), Remote: b.at(0)}))
	for a.conn.Stats().Up > 0 {
		time.Sleep(time.Millisecond) // there is no event for what has gone
	}
	n.SetFilter(nil)
	var out [1]Completion
	_, err := a.conn.Wait(testContext(t), out[:])
	must(t, err)
	must(t, out[0].Err)
	b.want(0, data)
}

// TestRepairTimeoutIsChecked: what cannot be kept is refused.
func TestRepairTimeoutIsChecked(t *testing.T) {
	a, _, _ := loopPair(t)
	for _, d := range []time.Duration{-1, time.Millisecond} {
		cfg := a.config(1)
		cfg.RepairTimeout = d
		if _, err := Listen(a.manager, 0, cfg); !errors.Is(err, ErrConfig) {
			t.Errorf("%v: got %v, want ErrConfig", d, err)
		}
	}
}

// TestCloseEndsGoroutines: whatever was repaired before, nothing runs on after Close.
func TestCloseEndsGoroutines(t *testing.T) {
	a, b, _ := loopPair(t)
	before := goleak.IgnoreCurrent()
	pair(t, a, b, 2, nil)
	must(t, a.conn.current(a.conn.lanes[1]).Close())
	must(t, a.conn.Write(testContext(t), a.buffer(0, 1<<20), b.at(0)))
	must(t, a.conn.Close())
	must(t, b.conn.Close())
	goleak.VerifyNone(t, before)
}

// TestDialWithoutPath: a connection comes up though one of its paths is dead, and has
// all queue pairs when the path is back.
func TestDialWithoutPath(t *testing.T) {
	t.Run("loopnet", func(t *testing.T) {
		a, b, n := loopPair(t)
		n.SetFilter(func(_, _ netip.Addr, p *transport.Packet) bool { return p.Path != 2 })
		dialWithoutPath(t, a, b, func() { n.SetFilter(nil) })
	})
	t.Run("udp", func(t *testing.T) {
		a, b := socketPair(t)
		udp.FaultsOf(a.dev).Cut(2)
		udp.FaultsOf(b.dev).Cut(2)
		dialWithoutPath(t, a, b, func() {
			udp.FaultsOf(a.dev).Restore(2)
			udp.FaultsOf(b.dev).Restore(2)
		})
	})
}

func dialWithoutPath(t *testing.T, a, b *side, restore func()) {
	t.Helper()
	l, err := Listen(b.manager, 0, b.config(1))
	must(t, err)
	dialTo(t, a, b, l, a.config(4))
	t.Cleanup(func() {
		a.conn.Close()
		b.conn.Close()
		l.Close()
	})
	if up := a.conn.Stats().Up; up < 1 || up > 3 {
		t.Errorf("%d queue pairs are up, one of four cannot be", up)
	}
	data := a.fill(0, 1<<20, 5)
	must(t, a.conn.Write(testContext(t), a.buffer(0, 1<<20), b.at(0)))
	b.want(0, data)
	restore()
	a.awaitUp(4)
}

// TestDialNobody: where nobody listens Dial says so at once.
func TestDialNobody(t *testing.T) {
	eachNetwork(t, func(t *testing.T, a, b *side) {
		l, err := Listen(b.manager, 0, b.config(1))
		must(t, err)
		address := l.Addr().String()
		must(t, l.Close())
		if _, err := Dial(testContext(t), a.manager, address, a.config(3)); !errors.Is(err, cm.ErrRefused) {
			t.Errorf("got %v, want ErrRefused", err)
		}
	})
}

// TestSourcesAreChecked: addresses that are no pairs are refused.
func TestSourcesAreChecked(t *testing.T) {
	a, b, _ := loopPair(t)
	cfg := a.config(2)
	for _, more := range []netip.Addr{{}, netip.MustParseAddr("10.0.0.77")} {
		cfg.Addresses = []netip.Addr{more}
		address := netip.AddrPortFrom(b.dev.Query().Local, 1).String()
		if _, err := Dial(testContext(t), a.manager, address, cfg); !errors.Is(err, ErrConfig) {
			t.Errorf("%v: got %v, want ErrConfig", more, err)
		}
	}
}

// TestWayHomeOfEnded: a lane that asks whether its own address is back makes no connection
// of one that has ended at the peer; the refusal is what sends it there to learn that.
func TestWayHomeOfEnded(t *testing.T) {
	a, b, _ := loopPair(t)
	l, err := Listen(b.manager, 0, b.config(1))
	must(t, err)
	cfg, err := a.config(2).withDefaults(a.manager)
	must(t, err)
	c, err := newConn(a.manager, cfg, 77, nil)
	must(t, err)
	c.targets = []string{l.Addr().String(), "elsewhere"}
	if home := c.wayHome(c.lanes[0], 1); !home() {
		t.Error("the peer is not reached")
	}
	l.mu.Lock()
	if len(l.conns) > 0 {
		t.Errorf("%d connections, want none", len(l.conns))
	}
	l.mu.Unlock()
	must(t, c.Close())
	must(t, l.Close())
	b.leavesNothing()
}

// TestDialOvertaken: a lane that could not be connected at one address asks at another
// before the first request of the connection is there. The listener does not know it yet,
// which is not the end.
func TestDialOvertaken(t *testing.T) {
	a, b, n := loopPair(t)
	l, err := Listen(b.manager, 0, b.config(1))
	must(t, err)
	var refused atomic.Bool
	n.SetFilter(func(_, _ netip.Addr, p *transport.Packet) bool {
		for _, s := range p.Spans {
			if bytes.Contains(s.Bytes(), []byte(unknownWord)) {
				refused.Store(true)
			}
		}
		h, ok := helloIn(p)
		return !ok || h.index > 0 || refused.Load()
	})
	cfg := a.config(2)
	cfg.Addresses = []netip.Addr{netip.MustParseAddr("fd00::1")} // to which there is no route
	dialTo(t, a, b, l, cfg)
	a.awaitUp(2)
	must(t, a.conn.Close())
	b.conn.Close()
	must(t, l.Close())
	b.leavesNothing()
}
