package perf

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/braid-rdma/braid"
	"github.com/braid-rdma/braid/internal/control"
	"github.com/braid-rdma/braid/internal/loopnet"
	"github.com/braid-rdma/braid/verbs"
)

// bench is a server and a client on a network in memory.
type bench struct {
	t       *testing.T
	network *loopnet.Network
	client  *Client
	server  *Server
	stop    context.CancelFunc
	ended   chan error

	mu       sync.Mutex
	outcomes []error
	finish   chan struct{} // one for each outcome
	results  []*Result
}

// virtual is the way on a network in memory, which this machine's routes know
// nothing of.
func virtual(_ context.Context, address string) ([]control.Route, error) {
	return []control.Route{{Address: address, Peer: netip.MustParseAddrPort(address)}}, nil
}

func newBench(t *testing.T, change func(*bench)) *bench {
	t.Helper()
	b := &bench{t: t, network: loopnet.New(loopnet.Options{Paths: offeredPaths}), ended: make(chan error, 1), finish: make(chan struct{}, 1000)}
	open := func(netip.Addr) (*verbs.Device, error) { return b.network.Open(), nil }
	listener, err := Listen(netip.Addr{}, 0, open)
	if err != nil {
		t.Fatal(err)
	}
	b.client = &Client{Address: listener.Addrs()[0].String(), Open: open, routes: virtual}
	b.server = &Server{Listener: listener, Finished: b.finished}
	if change != nil {
		change(b)
	}
	ctx, stop := context.WithCancel(t.Context())
	b.stop = stop
	go func() { b.ended <- b.server.Serve(ctx) }()
	t.Cleanup(func() {
		b.client.Close()
		stop()
		b.awaitEnd()
	})
	return b
}

func (b *bench) finished(_ string, r *Result, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.outcomes = append(b.outcomes, err)
	b.results = append(b.results, r)
	b.finish <- struct{}{}
}

// awaitEnd waits for the server's end; later calls have nothing to wait for.
func (b *bench) awaitEnd() error {
	b.t.Helper()
	select {
	case err, ok := <-b.ended:
		if ok {
			close(b.ended)
		}
		return err
	case <-time.After(2 * time.Minute):
		b.t.Fatal("the server did not end")
		return nil
	}
}

// patient is a QPTimeout of a second, for tests that are not about timeouts: on a busy
// machine the thread that would acknowledge may not run for the half second that
// perftest's default and its retries last.
const patient = 18

// rounds is how many iterations a test of everything has: of bandwidth enough to fill the queues, of
// latency few, since there both ends poll, and on a busy machine each waits for the
// processor of the other.
func rounds(m Metric) int {
	if m == Bandwidth {
		return 200
	}
	return 20
}

func (b *bench) run(spec Spec) (*Result, error) {
	orDefault(&spec.QPTimeout, patient)
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	defer cancel()
	return b.client.Run(ctx, spec)
}

func TestEveryTest(t *testing.T) {
	b := newBench(t, nil)
	for _, qp := range []string{"mp", "rc"} {
		for _, op := range Ops {
			for _, metric := range Metrics {
				t.Run(qp+" "+string(op)+" "+string(metric), func(t *testing.T) {
					spec := Spec{Op: op, Metric: metric, QP: qp, Iterations: rounds(metric), Verify: metric == Bandwidth, Size: 5000}
					r, err := b.run(spec)
					if err != nil {
						t.Fatal(err)
					}
					checkResult(t, r, spec.WithDefaults())
				})
			}
		}
	}
}

// offeredPaths is what the ends of tests offer.
const offeredPaths = 8

// TestAskedAndAgreed: a result tells what was asked for beside what the ends agreed on.
func TestAskedAndAgreed(t *testing.T) {
	r, err := newBench(t, nil).run(Spec{Op: Write, Metric: Bandwidth, Iterations: 10, Paths: 64, MTU: 8192})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Paths) != offeredPaths || r.PathsAsked != 64 || r.MTU != 4096 || r.MTUAsked != 8192 {
		t.Errorf("%d paths of %d, MTU %d of %d", len(r.Paths), r.PathsAsked, r.MTU, r.MTUAsked)
	}
}

// checkResult checks what must hold of every result.
func checkResult(t *testing.T, r *Result, spec Spec) {
	t.Helper()
	if r.Iterations != uint64(spec.Iterations*spec.QPs) {
		t.Errorf("%d iterations, want %d", r.Iterations, spec.Iterations*spec.QPs)
	}
	if r.Bytes != spec.Size || r.GoodputGbps <= 0 || r.MessageRateMpps <= 0 || r.PeakMiBps < r.AverageMiBps {
		t.Errorf("implausible: %+v", r)
	}
	l := r.LatencyMicros
	if l.Min <= 0 || l.Min > l.P50 || l.P50 > l.P99 || l.P99 > l.P999 || l.P999 > l.Max {
		t.Errorf("latencies out of order: %+v", l)
	}
	want := spec.Paths
	if want == 0 {
		want = offeredPaths
	}
	if len(r.Paths) != want {
		t.Errorf("%d paths, want %d", len(r.Paths), want)
	}
	var bytes uint64
	for _, p := range r.Paths {
		bytes += p.Bytes
	}
	if want := uint64(spec.Iterations * spec.Size); spec.Op != Atomic && bytes < want {
		t.Errorf("the paths carried %d bytes of at least %d", bytes, want)
	}
	if spec.Verify && (r.Verified == nil || !*r.Verified) {
		t.Error("not verified")
	}
}

func TestSeveralQueuePairsBothWays(t *testing.T) {
	b := newBench(t, nil)
	for _, op := range Ops {
		spec := Spec{Op: op, Metric: Bandwidth, QPs: 3, Bidirectional: true, Verify: true, Iterations: 300, Size: 1000}
		r, err := b.run(spec)
		if err != nil {
			t.Fatalf("%s: %v", op, err)
		}
		if want := uint64(2 * 3 * 300); r.Iterations != want {
			t.Errorf("%s: %d iterations, want %d of both directions", op, r.Iterations, want)
		}
		if !*r.Verified {
			t.Errorf("%s: not verified", op)
		}
	}
}

func TestDuration(t *testing.T) {
	b := newBench(t, nil)
	for _, metric := range Metrics {
		var calls int
		b.client.Progress = func(p Progress) { calls++ }
		r, err := b.run(Spec{Op: Send, Metric: metric, Duration: 600 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		if r.DurationSeconds < 0.5 || r.DurationSeconds > 5 {
			t.Errorf("%s: lasted %v s, want about 0.6", metric, r.DurationSeconds)
		}
		if calls == 0 {
			t.Errorf("%s: no progress was told", metric)
		}
	}
}

func TestDepthOfOne(t *testing.T) {
	b := newBench(t, nil)
	for _, metric := range Metrics {
		if _, err := b.run(Spec{Op: Write, Metric: metric, TxDepth: 1, Iterations: 50}); err != nil {
			t.Errorf("%s: %v", metric, err)
		}
	}
}

func TestServerServesOnce(t *testing.T) {
	b := newBench(t, func(b *bench) { b.server.Once, b.server.Op, b.server.Metric = true, Write, Bandwidth })
	want, err := b.run(Spec{Op: Write, Metric: Bandwidth, Iterations: 10})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.awaitEnd(); err != nil {
		t.Fatal(err)
	}
	if got := b.results[0]; got.GoodputGbps != want.GoodputGbps || got.Op != Write {
		t.Errorf("the server has %+v, the client %+v", got, want)
	}
}

func TestServerRefuses(t *testing.T) {
	b := newBench(t, func(b *bench) { b.server.Op, b.server.Metric = Write, Bandwidth })
	_, err := b.run(Spec{Op: Read, Metric: Latency})
	var refused *braid.CallError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "write bw only") {
		t.Fatalf("error %v, want a refusal with its reason", err)
	}
	if _, err := b.run(Spec{Op: Write, Metric: Bandwidth, Iterations: 10}); err != nil {
		t.Fatalf("after a refusal: %v", err)
	}
}

func TestClientsAtTheSameTime(t *testing.T) {
	b := newBench(t, nil)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			client := &Client{Address: b.client.Address, Open: b.client.Open, routes: virtual}
			defer client.Close()
			if _, err := client.Run(t.Context(), Spec{Op: Send, Metric: Bandwidth, Iterations: 200, Verify: true, QPTimeout: patient}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestClientNoticesThatTheServerEnds(t *testing.T) {
	b := newBench(t, nil)
	b.client.Progress = func(Progress) { b.stop() }
	_, err := b.run(Spec{Op: Write, Metric: Bandwidth, Duration: 30 * time.Second})
	if err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("error %v, want that the server is gone", err)
	}
	if errors.Is(err, verbs.ErrFlushed) {
		t.Errorf("error %v tells of the consequence, not of the cause", err)
	}
}

func TestServerOutlivesAClientThatVanishes(t *testing.T) {
	b := newBench(t, nil)
	vanishing := &Client{Address: b.client.Address, Open: b.client.Open, routes: virtual}
	vanishing.Progress = func(Progress) { vanishing.Close() }
	if _, err := vanishing.Run(t.Context(), Spec{Op: Send, Metric: Bandwidth, Duration: 30 * time.Second}); err == nil {
		t.Fatal("a test without a device ends well")
	}
	if _, err := b.run(Spec{Op: Send, Metric: Bandwidth, Iterations: 10}); err != nil {
		t.Fatal(err)
	}
}

func TestVerifyFindsAWrongByte(t *testing.T) {
	network := loopnet.New(loopnet.Options{})
	device := network.Open()
	defer device.Close()
	spec := Spec{Op: Write, Metric: Bandwidth, Verify: true}.WithDefaults()
	e, err := newEndpoint(device, spec, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer e.close()
	copy(e.shared.Bytes(), e.local.Bytes())
	peer, err := e.report([]uint64{100}, newMeter())
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := e.verify(&peer); !ok || err != nil {
		t.Fatalf("equal memory: %v, %v", ok, err)
	}
	e.shared.Bytes()[spec.Size+7] ^= 1
	if ok, err := e.verify(&peer); ok || err != nil {
		t.Fatalf("a flipped bit: %v, %v", ok, err)
	}
	if _, err := e.verify(&done{}); !errors.Is(err, ErrSpec) {
		t.Errorf("a report without queue pairs: error %v", err)
	}
}

func TestBandwidthLoopDoesNotAllocate(t *testing.T) {
	s := stream{depth: 128, group: make([]verbs.SendWR, 8), groups: groupTimes{ring: make([]groupTime, 17)}}
	m := newMeter()
	allocated := testing.AllocsPerRun(1000, func() {
		s.groups.push(groupTime{end: s.completed + 8, at: m.start})
		operations, since := s.complete(s.completed + 8)
		m.latency.record(m.start.Sub(since))
		m.add(m.start, operations, 64)
	})
	if allocated != 0 {
		t.Errorf("%v allocations per group", allocated)
	}
}
