package cm

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braid-rdma/braid/udp"
	"github.com/braid-rdma/braid/verbs"
)

// sockets are two sides on real sockets of the loopback interface. They leave the
// addresses of the host to tests of other packages.
func sockets(t testing.TB) (a, b *side) {
	t.Helper()
	open := func() *side {
		dev, err := udp.Open(udp.Config{Loopback: true, Paths: 4})
		must(t, err)
		return newSide(t, dev)
	}
	return open(), open()
}

// serve grants every request, each in a goroutine of its own, until the
// listener closes. The connections are closed when their peers have gone.
func (s *side) serve(l *Listener, accepted *atomic.Int32) *sync.WaitGroup {
	var all sync.WaitGroup
	all.Go(func() {
		for {
			r, err := l.Next(context.Background())
			if err != nil {
				return
			}
			all.Go(func() {
				c, err := r.Accept(context.Background(), s.options(verbs.MP, ""))
				if err != nil {
					s.t.Errorf("accept: %v", err)
					return
				}
				accepted.Add(1)
				<-c.Done()
				c.Close()
			})
		}
	})
	return &all
}

// dialAll makes n connections at once and returns those that came up.
func (s *side) dialAll(ctx context.Context, l *Listener, n int) []*Conn {
	conns := make([]*Conn, n)
	var all sync.WaitGroup
	for i := range conns {
		all.Go(func() {
			c, err := s.m.Dial(ctx, l.Addr().String(), s.options(verbs.MP, ""))
			if err != nil {
				s.t.Errorf("dial %d: %v", i, err)
				return
			}
			conns[i] = c
		})
	}
	all.Wait()
	return conns
}

func TestOverSockets(t *testing.T) {
	a, b := sockets(t)
	ca, cb := connected(t, a, b, verbs.MP, verbs.MP)
	a.write(ca, b)
	b.write(cb, a)
	if paths := ca.QP().Query().Attr.Paths; paths != 4 {
		t.Errorf("%d paths", paths)
	}
	must(t, cb.Close())
	wantEnd(t, ca, ErrPeerClosed)
	must(t, ca.Close())
	a.leaves()
	b.leaves()
}

// TestIPv6 connects a device to itself, since this host may have one IPv6
// address only.
func TestIPv6(t *testing.T) {
	dev, err := udp.Open(udp.Config{Addr: netip.IPv6Loopback(), Paths: 4})
	if errors.Is(err, udp.ErrNoAddress) || errors.Is(err, udp.ErrPortInUse) {
		t.Skip(err)
	}
	must(t, err)
	s := newSide(t, dev)
	ca, cb := connected(t, s, s, verbs.MP, verbs.MP)
	if ca.RemoteAddr().Addr() != netip.IPv6Loopback() || cb.RemoteAddr() != ca.LocalAddr() {
		t.Errorf("%v and %v", ca.RemoteAddr(), cb.RemoteAddr())
	}
	s.write(ca, s)
	must(t, ca.Close())
	wantEnd(t, cb, ErrPeerClosed)
	must(t, cb.Close())
	s.leaves()
}

// TestCutPaths connects and takes leave while three of four paths are dead, also
// the one that would have been first: a message that is repeated
// takes another path.
func TestCutPaths(t *testing.T) {
	for _, alive := range []int{1, 3} {
		a, b := sockets(t)
		for _, s := range []*side{a, b} {
			for path := range 4 {
				if path != alive {
					udp.FaultsOf(s.dev).Cut(path)
				}
			}
		}
		ca, cb := connected(t, a, b, verbs.MP, verbs.MP)
		a.write(ca, b)
		must(t, ca.Close())
		wantEnd(t, cb, ErrPeerClosed)
		must(t, cb.Close())
	}
}

// TestBadNetwork connects fifty times while 30 % of the managers' datagrams are
// lost, and 30 % of the others damaged. No keepalive is asked for: three of four
// questions or their responses are lost, so that one peer in ten would miss all
// eight of them if the machine is so slow that the test takes a period.
func TestBadNetwork(t *testing.T) {
	a, b := sockets(t)
	for _, s := range []*side{a, b} {
		s.keepalive = verbs.None
		for path := range 4 {
			udp.FaultsOf(s.dev).SetLoss(path, 0.3)
			udp.FaultsOf(s.dev).SetCorruption(path, 0.3)
		}
	}
	l, err := b.m.Listen(0)
	must(t, err)
	var accepted atomic.Int32
	served := b.serve(l, &accepted)
	conns := a.dialAll(testContext(t), l, 50)
	for deadline := time.Now().Add(2 * time.Minute); accepted.Load() < 50 && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	if accepted.Load() != 50 {
		t.Errorf("%d of 50 came up", accepted.Load())
	}
	for _, c := range conns {
		if c != nil && c.Err() != nil {
			t.Errorf("a connection has ended: %v", c.Err())
		}
	}
	// Farewells have an end of their own; on a sound network it comes soon.
	for _, s := range []*side{a, b} {
		for path := range 4 {
			udp.FaultsOf(s.dev).SetLoss(path, 0)
			udp.FaultsOf(s.dev).SetCorruption(path, 0)
		}
	}
	closeAll(conns)
	must(t, l.Close())
	served.Wait()
	a.leaves()
	b.leaves()
}

func closeAll(conns []*Conn) {
	var all sync.WaitGroup
	for _, c := range conns {
		if c != nil {
			all.Go(func() { c.Close() })
		}
	}
	all.Wait()
}

// TestStorm brings up as many connections at once as a restart of all clients
// of a server would. The promise is 3 s on a quiet machine of two cores; others
// may take longer, so it is held only where BRAID_STORM says so.
func TestStorm(t *testing.T) {
	const connections, promise = 4096, 3 * time.Second
	a, b := sockets(t)
	l, err := b.m.Listen(0)
	must(t, err)
	var accepted atomic.Int32
	served := b.serve(l, &accepted)
	begin := time.Now()
	conns := a.dialAll(testContext(t), l, connections)
	for accepted.Load() < connections && time.Since(begin) < 2*time.Minute && !t.Failed() {
		time.Sleep(time.Millisecond)
	}
	took := time.Since(begin)
	t.Logf("%d connections in %v; client %+v; server %+v", accepted.Load(), took, a.m.Counters(), b.m.Counters())
	if accepted.Load() != connections {
		t.Errorf("%d of %d came up", accepted.Load(), connections)
	}
	if os.Getenv("BRAID_STORM") != "" && took > promise {
		t.Errorf("it took %v, more than %v", took, promise)
	}
	begin = time.Now()
	closeAll(conns)
	must(t, l.Close())
	served.Wait()
	t.Logf("closed in %v", time.Since(begin))
	a.leaves()
	b.leaves()
}

// TestHalfOpenOverSockets: a client that gives up costs the server nothing that
// lasts.
func TestHalfOpenOverSockets(t *testing.T) {
	a, b := sockets(t)
	l, err := b.m.Listen(0)
	must(t, err)
	for range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if _, err := a.m.Dial(ctx, l.Addr().String(), a.options(verbs.MP, "")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("dial: %v", err)
		}
		cancel()
	}
	a.leaves()
	b.leaves()
}
