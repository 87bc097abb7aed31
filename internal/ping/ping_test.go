package ping

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/internal/loopnet"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
	"github.com/braid-rdma/braid/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	testPaths = 4
	testPort  = 4321
)

// bench is a responder and a prober on a network in memory, in virtual time.
type bench struct {
	t         *testing.T
	network   *loopnet.Network
	manager   *cm.Manager // of the responder
	responder *Responder
	prober    *Prober
	stop      func() // ends the responder
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// inBench runs a test in virtual time.
func inBench(t *testing.T, o ResponderOptions, test func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bench{t: t, network: loopnet.New(loopnet.Options{Paths: testPaths})}
		b.manager = b.open()
		b.serve(o)
		defer func() { b.stop() }()
		prober, err := NewProber(b.open(), ProberOptions{SourcePort: func(path int) uint16 { return uint16(50000 + path) }})
		must(t, err)
		b.prober = prober
		defer prober.Close()
		test(b)
	})
}

// open is a device with a manager.
func (b *bench) open() *cm.Manager {
	b.t.Helper()
	m, err := cm.New(b.network.Open(), cm.Config{})
	must(b.t, err)
	b.t.Cleanup(func() {
		m.Close()
		m.Device().Close()
	})
	return m
}

// serve starts a responder; stop ends it.
func (b *bench) serve(o ResponderOptions) {
	b.t.Helper()
	o.Port = testPort
	r, err := NewResponder(b.manager, o)
	must(b.t, err)
	b.responder = r
	ctx, cancel := context.WithCancel(b.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Serve(ctx) }()
	b.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			b.t.Errorf("the responder ended with %v", err)
		}
		r.Close()
	})
}

func (b *bench) connect() *Peer {
	b.t.Helper()
	peer, err := b.prober.Connect(b.t.Context(), b.manager.Device().Query().Local.String(), testPort)
	must(b.t, err)
	return peer
}

func (b *bench) ping(p *Peer, probe Probe) Result {
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Second)
	defer cancel()
	return p.Ping(ctx, probe)
}

// drop loses the packets that a function names.
func (b *bench) drop(f func(from netip.Addr, p *transport.Packet) bool) {
	b.network.SetFilter(func(from, _ netip.Addr, p *transport.Packet) bool { return !f(from, p) })
}

// isDatagram says whether a packet is a probe or a reply.
func isDatagram(p *transport.Packet) bool {
	return p.Opcode == wire.UDSendOnly && p.DestQP != wire.ManagementQPN
}

func TestEveryKindSizeAndPath(t *testing.T) {
	inBench(t, ResponderOptions{SourcePort: func(path int) uint16 { return uint16(40000 + path) }}, func(b *bench) {
		type seen struct {
			path   transport.Path
			length int
		}
		var mu sync.Mutex
		var datagrams []seen
		b.drop(func(_ netip.Addr, p *transport.Packet) bool {
			mu.Lock()
			defer mu.Unlock()
			if isDatagram(p) {
				datagrams = append(datagrams, seen{p.Path, p.Length})
			}
			return false
		})
		peer := b.connect()
		for _, by := range Kinds {
			for _, size := range []int{MinSize, 64, 4096, 1 << 16, MaxWrite} {
				for path := range testPaths {
					datagrams = nil
					r := b.ping(peer, Probe{by, path, size})
					if r.Err != nil {
						t.Fatalf("%s, %d bytes on path %d: %v", by, size, path, r.Err)
					}
					mu.Lock()
					got := datagrams
					mu.Unlock()
					if by != UD {
						if r.Size != size || len(got) != 0 {
							t.Errorf("%s: %d bytes were written, want %d; datagrams %v", by, r.Size, size, got)
						}
						continue
					}
					want := seen{transport.Path(path), min(size, 4096)}
					if r.Size != want.length || len(got) != 2 || got[0] != want || got[1] != want {
						t.Errorf("size %d on path %d: sent %d, datagrams %v, want two of %v", size, path, r.Size, got, want)
					}
					if r.Port != uint16(50000+path) || r.PeerPort != uint16(40000+path) {
						t.Errorf("path %d has the ports %d and %d", path, r.Port, r.PeerPort)
					}
				}
			}
		}
		if c := b.responder.Counters(); c.Replies != 5*testPaths || c.Granted != testPaths+1 || c.Malformed+c.Limited+c.Dropped+c.Busy != 0 {
			t.Errorf("the responder counts %+v", c)
		}
		if c := b.prober.Counters(); c != (ProberCounters{}) {
			t.Errorf("the prober counts %+v", c)
		}
		if paths := peer.PathsOfMP(); len(paths) != testPaths {
			t.Errorf("the multi-path connection has %d paths", len(paths))
		}
	})
}

func TestProbesThatCannotBeSent(t *testing.T) {
	inBench(t, ResponderOptions{}, func(b *bench) {
		peer := b.connect()
		for _, probe := range []Probe{
			{UD, testPaths, 64},
			{RC, -1, 64},
			{UD, 0, MinSize - 1},
			{RC, 0, MaxWrite + 1},
			{"pigeon", 0, 64},
		} {
			if r := b.ping(peer, probe); r.Err == nil || errors.Is(r.Err, ErrLost) {
				t.Errorf("%+v: %v", probe, r.Err)
			}
		}
	})
}

// TestDeadPath: one path loses everything, in the direction of the probes or of the replies, and the
// summary says which.
func TestDeadPath(t *testing.T) {
	for name, by := range map[string]By{"datagrams": UD, "connections": RC} {
		for _, back := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				inBench(t, ResponderOptions{}, func(b *bench) {
					peer := b.connect()
					b.drop(func(from netip.Addr, p *transport.Packet) bool {
						return p.Path == 2 && p.DestQP != wire.ManagementQPN && (from == peer.Addr()) == back
					})
					const rounds = 5
					var sum Summary
					peer.Run(b.t.Context(), &Schedule{
						By: []By{by}, Paths: []int{0, 1, 2, 3}, Sizes: []int{64, 4096},
						Interval: 100 * time.Millisecond, Timeout: 2 * time.Second, Count: rounds * testPaths,
					}, func(r Result) { sum.Add(&r) })
					for _, p := range sum.Paths() {
						want := uint64(rounds)
						if p.Path == 2 {
							want = 0
						}
						if p.Sent != rounds || p.Received != want || (p.LastError != "") != (want == 0) || p.Loss != 1-float64(want)/rounds {
							t.Errorf("path %d: %+v, want %d replies", p.Path, p, want)
						}
					}
				})
			})
		}
	}
}

// TestHostStopsAndComesBack: probes are lost while there is no responder, and go on
// when one has been started anew, which has another queue pair.
func TestHostStopsAndComesBack(t *testing.T) {
	inBench(t, ResponderOptions{}, func(b *bench) {
		peer := b.connect()
		for _, by := range Kinds {
			if r := b.ping(peer, Probe{by, 0, 64}); r.Err != nil {
				t.Fatal(by, r.Err)
			}
		}
		b.stop()
		for range relearnAfter {
			for _, by := range Kinds {
				if r := b.ping(peer, Probe{by, 0, 64}); r.Err == nil {
					t.Errorf("%s: a reply without a responder", by)
				}
			}
		}
		b.serve(ResponderOptions{})
		replies := 0
		for range 4 * relearnAfter {
			if r := b.ping(peer, Probe{UD, 0, 64}); r.Err == nil {
				replies++
			}
		}
		if replies < relearnAfter {
			t.Errorf("%d replies of the new responder", replies)
		}
		for _, by := range []By{RC, MP} {
			if r := b.ping(peer, Probe{by, 0, 64}); r.Err != nil {
				t.Error(by, r.Err)
			}
		}
	})
}

func TestNobodyThere(t *testing.T) {
	inBench(t, ResponderOptions{}, func(b *bench) {
		ctx, cancel := context.WithTimeout(b.t.Context(), time.Second)
		defer cancel()
		silent := b.open() // a manager, and no responder
		if _, err := b.prober.Connect(ctx, silent.Device().Query().Local.String(), testPort); !errors.Is(err, ErrNoResponder) {
			t.Errorf("no responder: %v", err)
		}
		if _, err := b.prober.Connect(ctx, "10.99.99.99", testPort); !errors.Is(err, ErrNoResponder) {
			t.Errorf("no host: %v", err)
		}
		if _, err := b.prober.Connect(ctx, "2001:db8::1", testPort); !errors.Is(err, ErrNoRoute) {
			t.Errorf("no route: %v", err)
		}
	})
}

// TestOtherProgram: the port is that of a program which is no responder.
func TestOtherProgram(t *testing.T) {
	inBench(t, ResponderOptions{}, func(b *bench) {
		other := b.open()
		l, err := other.Listen(testPort)
		must(t, err)
		pd, err := other.Device().CreatePD()
		must(t, err)
		cq, err := other.Device().CreateCQ(16)
		must(t, err)
		var serving sync.WaitGroup
		serving.Go(func() {
			c, err := l.Accept(b.t.Context(), cm.Options{PD: pd, QP: verbs.QPOptions{SendCQ: cq}})
			if err == nil {
				<-c.Done()
				c.Close()
			}
			r, err := l.Next(b.t.Context())
			if err == nil {
				r.Reject([]byte("not you"))
			}
		})
		for range 2 { // it accepts, then it refuses
			if _, err := b.prober.Connect(b.t.Context(), l.Addr().Addr().String(), testPort); !errors.Is(err, ErrNoResponder) {
				t.Errorf("another program: %v", err)
			}
		}
		serving.Wait()
	})
}

func TestConnectionsAreBounded(t *testing.T) {
	inBench(t, ResponderOptions{Connections: 2 * addressShare, Idle: time.Minute}, func(b *bench) {
		peer := b.connect()
		for path := range testPaths {
			if r := b.ping(peer, Probe{RC, path, 64}); r.Err != nil {
				t.Errorf("path %d: %v", path, r.Err)
			}
			synctest.Wait() // until the responder has counted it
		}
		// The third and the fourth took the places of the first two.
		if n, c := b.connections(), b.responder.Counters(); c.Granted != 4 || c.Busy < 2 || n != 2 {
			t.Errorf("the responder counts %+v, and has %d", c, n)
		}
		for range 5 { // one that is used stays
			time.Sleep(30 * time.Second)
			if r := b.ping(peer, Probe{RC, 2, 64}); r.Err != nil {
				t.Errorf("a connection in use: %v", r.Err)
			}
		}
		if left := b.connections(); left != 1 || b.responder.Counters().Granted != 4 {
			t.Errorf("%d connections are left, %+v", left, b.responder.Counters())
		}
		busy := b.responder.Counters().Busy
		if r := b.ping(peer, Probe{RC, 3, 64}); r.Err != nil || b.responder.Counters().Busy != busy {
			t.Errorf("the idle one's place was not free: %v", r.Err)
		}
	})
}

// connections are those that the responder has now.
func (b *bench) connections() int {
	synctest.Wait()
	b.responder.mu.Lock()
	defer b.responder.mu.Unlock()
	return b.responder.connections
}

// TestConnectionsTakeTurns: a prober that wants more connections than it may have closes those that it has not used for longest, and none that
// waits for a reply.
func TestConnectionsTakeTurns(t *testing.T) {
	inBench(t, ResponderOptions{}, func(b *bench) {
		b.prober.o.maxWriters = 2
		peer := b.connect()
		want := func(granted uint64, path int) {
			t.Helper()
			if r := b.ping(peer, Probe{RC, path, 64}); r.Err != nil {
				t.Errorf("path %d: %v", path, r.Err)
			}
			if n, c := b.connections(), b.responder.Counters(); c.Granted != granted || n > 2 {
				t.Errorf("path %d: the responder counts %+v, and has %d", path, c, n)
			}
		}
		want(1, 0)
		want(2, 1)
		want(2, 0)
		want(3, 2) // instead of 1
		want(3, 0)
		want(4, 1) // instead of 2
		// Both wait for a reply, so that there is no place.
		b.drop(func(_ netip.Addr, p *transport.Packet) bool { return p.DestQP != wire.ManagementQPN })
		var waiting sync.WaitGroup
		for _, path := range []int{0, 1} {
			waiting.Go(func() {
				ctx, cancel := context.WithTimeout(b.t.Context(), 100*time.Millisecond)
				defer cancel()
				if r := peer.Ping(ctx, Probe{RC, path, 64}); !errors.Is(r.Err, ErrLost) {
					t.Errorf("path %d: %v", path, r.Err)
				}
			})
		}
		synctest.Wait()
		if r := b.ping(peer, Probe{RC, 3, 64}); !errors.Is(r.Err, ErrBusy) {
			t.Errorf("a third: %v", r.Err)
		}
		waiting.Wait()
		b.drop(func(netip.Addr, *transport.Packet) bool { return false })
		want(5, 3)
	})
}

// TestSilentConnection: what can not be acknowledged waits, and beyond a few probes nothing is posted.
func TestSilentConnection(t *testing.T) {
	inBench(t, ResponderOptions{}, func(b *bench) {
		peer := b.connect()
		if r := b.ping(peer, Probe{MP, 0, 64}); r.Err != nil {
			t.Fatal(r.Err)
		}
		b.drop(func(_ netip.Addr, p *transport.Packet) bool { return p.DestQP != wire.ManagementQPN })
		var first sync.WaitGroup
		for range writerDepth {
			first.Go(func() {
				ctx, cancel := context.WithTimeout(b.t.Context(), time.Millisecond)
				defer cancel()
				if r := peer.Ping(ctx, Probe{MP, 0, 64}); !errors.Is(r.Err, ErrLost) {
					t.Error(r.Err)
				}
			})
		}
		synctest.Wait()
		if r := b.ping(peer, Probe{MP, 0, 64}); !errors.Is(r.Err, ErrBusy) { // those before it may still be acknowledged
			t.Error(r.Err)
		}
		first.Wait()
		if r := b.ping(peer, Probe{MP, 0, 64}); !errors.Is(r.Err, ErrLost) || !strings.Contains(r.Err.Error(), "before it") {
			t.Errorf("after those were lost: %v", r.Err)
		}
		b.drop(func(netip.Addr, *transport.Packet) bool { return false })
		time.Sleep(10 * time.Second)
		if r := b.ping(peer, Probe{MP, 0, 64}); r.Err != nil {
			t.Errorf("after it was silent: %v", r.Err)
		}
	})
}

// TestProberCloses while probes are under way.
func TestProberCloses(t *testing.T) {
	inBench(t, ResponderOptions{}, func(b *bench) {
		peer := b.connect()
		b.drop(func(_ netip.Addr, p *transport.Packet) bool { return isDatagram(p) })
		result := make(chan Result, 1)
		go func() { result <- peer.Ping(b.t.Context(), Probe{UD, 0, 64}) }()
		synctest.Wait()
		b.prober.Close()
		if r := <-result; !errors.Is(r.Err, ErrClosed) {
			t.Errorf("the probe that was under way: %v", r.Err)
		}
		for _, by := range Kinds {
			if r := peer.Ping(b.t.Context(), Probe{by, 0, 64}); !errors.Is(r.Err, ErrClosed) {
				t.Errorf("%s after the end: %v", by, r.Err)
			}
		}
	})
}

// TestRunEndsWithItsContext: what is under way is not reported.
func TestRunEndsWithItsContext(t *testing.T) {
	inBench(t, ResponderOptions{}, func(b *bench) {
		peer := b.connect()
		ctx, cancel := context.WithCancel(b.t.Context())
		defer cancel()
		reported := uint64(0)
		peer.Run(ctx, &Schedule{By: []By{UD}, Paths: []int{0}, Sizes: []int{64}, Interval: time.Second, Timeout: time.Second}, func(r Result) {
			if reported++; r.Number != reported || r.Err != nil {
				t.Errorf("result %+v, want number %d", r, reported)
			}
			if reported == 3 {
				b.drop(func(_ netip.Addr, p *transport.Packet) bool { return isDatagram(p) })
				time.AfterFunc(1500*time.Millisecond, cancel)
			}
		})
		if reported != 3 {
			t.Errorf("%d results", reported)
		}
	})
}
