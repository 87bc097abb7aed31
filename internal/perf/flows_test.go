package perf

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/braid-rdma/braid/verbs"
)

// someSizes is a distribution of a few sizes, each as frequent as the others.
type someSizes []int64

func (s someSizes) Name() string              { return "some" }
func (s someSizes) String() string            { return strings.Trim(fmt.Sprint([]int64(s)), "[]") }
func (s someSizes) Sample(r *rand.Rand) int64 { return s[r.IntN(len(s))] }
func (s someSizes) Mean() float64 {
	sum := int64(0)
	for _, size := range s {
		sum += size
	}
	return float64(sum) / float64(len(s))
}

// newFlowBench is a client with as many servers on a network in memory.
func newFlowBench(t *testing.T, servers int) (*FlowClient, []*bench) {
	t.Helper()
	return newOrderBench(t, servers, nil)
}

// newOrderBench is the same with servers that obey orders, if orders is not nil.
func newOrderBench(t *testing.T, servers int, orders func() *Orders) (*FlowClient, []*bench) {
	t.Helper()
	allow := func(b *bench) {
		if orders != nil {
			b.server.Orders = orders()
		}
	}
	benches := []*bench{newBench(t, allow)}
	f := &FlowClient{Open: benches[0].client.Open, routes: virtual}
	for len(benches) < servers {
		benches = append(benches, newBench(t, func(b *bench) {
			b.server.Listener.Close() // that of a network of its own
			var err error
			if b.server.Listener, err = Listen(netip.Addr{}, 0, f.Open); err != nil {
				t.Fatal(err)
			}
			b.client.Address = b.server.Listener.Addrs()[0].String()
			allow(b)
		}))
	}
	for _, b := range benches {
		f.Addresses = append(f.Addresses, b.client.Address)
	}
	return f, benches
}

// checkFlows checks what must hold of every result.
func checkFlows(t *testing.T, r *FlowResult) {
	t.Helper()
	var flows, served uint64
	var bytes int64
	for _, c := range r.Classes {
		flows += c.Flows
		bytes += c.Bytes
		l := c.CompletionMicros
		if l.P50 <= 0 || l.P50 > l.P99 || l.P99 > l.P999 || l.P999 > l.Max || c.GoodputGbps <= 0 {
			t.Errorf("class up to %d: %+v", c.UpTo, c)
		}
	}
	for _, s := range r.Servers {
		served += s.Flows
	}
	if flows != r.All.Flows || served != r.All.Flows || bytes != r.All.Bytes || flows == 0 {
		t.Errorf("%d flows of %d bytes in classes, %d at servers, %+v in all", flows, bytes, served, r.All)
	}
}

// TestFlows runs models to one server and to two, by WRITE and by READ.
func TestFlows(t *testing.T) {
	sizes := someSizes{1, 5000, 65536, 65537, 300_000}
	for _, test := range []struct {
		name    string
		servers int
		spec    FlowSpec
	}{
		{"closed", 1, FlowSpec{Sizes: sizes}},
		{"closed, rc", 1, FlowSpec{Sizes: sizes, Connection: Spec{QP: "rc"}}},
		{"closed, on and off", 1, FlowSpec{Sizes: sizes, On: 10 * time.Millisecond, Off: 20 * time.Millisecond}},
		{"incast", 2, FlowSpec{Sizes: sizes, Connection: Spec{Op: Read}}},
		{"open", 2, FlowSpec{Sizes: sizes, Rate: 200e6}},
		{"one message outstanding", 1, FlowSpec{Sizes: sizes, Rate: 200e6, Connection: Spec{TxDepth: 1}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			client, benches := newFlowBench(t, test.servers)
			c := &test.spec.Connection
			c.Duration, c.QPs, c.QPTimeout = 100*time.Millisecond, 4, patient
			test.spec.Drain = time.Minute // a busy machine may not run the peer for the whole test
			r, err := client.Run(t.Context(), test.spec)
			if err != nil {
				t.Fatal(err)
			}
			checkFlows(t, r)
			if r.Interrupted || len(r.Servers) != test.servers || r.Model != "some" {
				t.Errorf("%+v", r)
			}
			for _, b := range benches {
				<-b.finish
				if b.outcomes[0] != nil {
					t.Errorf("a server ended with %v", b.outcomes[0])
				}
			}
		})
	}
}

// TestFlowsAreCutOff: a flow that does not end in time does not keep the test.
func TestFlowsAreCutOff(t *testing.T) {
	client, _ := newFlowBench(t, 1)
	r, err := client.Run(t.Context(), FlowSpec{
		Sizes: someSizes{1 << 50}, Drain: time.Millisecond, Connection: Spec{Duration: 20 * time.Millisecond, QPs: 3, QPTimeout: patient},
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.All.Flows != 0 || r.Unfinished != 3 {
		t.Errorf("%+v", r)
	}
}

func TestFlowsInterrupted(t *testing.T) {
	client, benches := newFlowBench(t, 2)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	client.Interval, client.grace = time.Millisecond, time.Minute
	client.Progress = func(p Progress) {
		if p.Operations > 100 {
			cancel()
		}
	}
	r, err := client.Run(ctx, FlowSpec{Sizes: someSizes{1000}, Connection: Spec{Duration: time.Hour, QPTimeout: patient}})
	if !errors.Is(err, context.Canceled) || r == nil || !r.Interrupted {
		t.Fatalf("%+v, error %v", r, err)
	}
	checkFlows(t, r)
	for _, b := range benches {
		<-b.finish
		if b.results[0] == nil || !b.results[0].Interrupted {
			t.Errorf("a server has %+v, error %v", b.results[0], b.outcomes[0])
		}
	}
}

// TestFlowsNoticeThatAServerEnds: one server that is gone ends the test of all.
func TestFlowsNoticeThatAServerEnds(t *testing.T) {
	client, benches := newFlowBench(t, 2)
	client.Interval = time.Millisecond
	client.Progress = func(Progress) { benches[1].stop() }
	r, err := client.Run(t.Context(), FlowSpec{Sizes: someSizes{1000}, Connection: Spec{Duration: time.Hour, QPTimeout: patient}})
	if r != nil || err == nil || errors.Is(err, verbs.ErrFlushed) {
		t.Errorf("%+v, error %v, want that the server is gone", r, err)
	}
}

// drawFlows draws the flows of an open loop that begin within a time.
func drawFlows(spec FlowSpec, servers int, until time.Duration) (flows []flow) {
	for s := newFlowSource(&spec, servers); s.next.at < until; s.advance() {
		flows = append(flows, s.next)
	}
	return flows
}

func TestFlowsOfASeed(t *testing.T) {
	spec := FlowSpec{Sizes: someSizes{1000, 9000}, Rate: 1e9, Seed: 7}
	flows := drawFlows(spec, 3, time.Second)
	if !slices.Equal(flows, drawFlows(spec, 3, time.Second)) {
		t.Error("the same seed draws other flows")
	}
	var bytes int64
	servers := map[int]int{}
	for _, f := range flows {
		bytes += f.size
		servers[f.server]++
	}
	if rate := float64(bytes) * 8; math.Abs(rate-1e9) > 2e7 {
		t.Errorf("%v bit/s, want 1e9", rate)
	}
	if len(servers) != 3 || servers[0] < len(flows)/4 {
		t.Errorf("flows by server: %v", servers)
	}
	if spec.Seed = 8; slices.Equal(flows, drawFlows(spec, 3, time.Second)) {
		t.Error("another seed draws the same flows")
	}
}

func TestFlowsOnAndOff(t *testing.T) {
	spec := FlowSpec{Sizes: someSizes{1000}, Rate: 1e8, On: 10 * time.Millisecond, Off: 30 * time.Millisecond}
	flows := drawFlows(spec, 1, time.Second)
	source := newFlowSource(&spec, 1)
	for _, f := range flows {
		if !source.on(f.at) {
			t.Fatalf("a flow begins at %v", f.at)
		}
	}
	// On for a quarter of a second, 80 µs apart.
	if n := len(flows); n < 2900 || n > 3350 {
		t.Errorf("%d flows, want some 3125", n)
	}
}

func TestFlowSpecCheck(t *testing.T) {
	for want, change := range map[string]func(*FlowSpec){
		"written or read": func(s *FlowSpec) { s.Connection.Op = Send },
		"need sizes":      func(s *FlowSpec) { s.Sizes = nil },
		"begins every 8n": func(s *FlowSpec) { s.Rate = 1e12 },
		"begins every 8s": func(s *FlowSpec) { s.Rate = 1e3 },
		"at a rate of -1": func(s *FlowSpec) { s.Rate = -1e9 },
		"to be on":        func(s *FlowSpec) { s.Off = time.Second },
		"up to 3s off":    func(s *FlowSpec) { s.On, s.Off = time.Second, time.Hour },
		"one way":         func(s *FlowSpec) { s.Connection.Bidirectional = true },
		"queue pairs":     func(s *FlowSpec) { s.Connection.QPs = MaxQPs + 1 },
	} {
		spec := FlowSpec{Sizes: someSizes{1000}}.WithDefaults()
		if err := spec.Check(1); err != nil {
			t.Fatal(err)
		}
		change(&spec)
		if err := spec.Check(1); !errors.Is(err, ErrSpec) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	spec := FlowSpec{Sizes: someSizes{1}}.WithDefaults()
	if err := spec.Check(0); !errors.Is(err, ErrSpec) {
		t.Errorf("no hosts: error %v", err)
	}
}

// TestFlowsTurnedAway: a network that is far behind does not fill the memory.
func TestFlowsTurnedAway(t *testing.T) {
	spec := FlowSpec{Sizes: someSizes{1000}, Rate: 1e9}.WithDefaults()
	d := &flowDriver{spec: &spec, source: newFlowSource(&spec, 1), tally: newTally(), servers: []*flowServer{{}}} // no queue pairs
	if err := d.begin(time.Second); err != nil {
		t.Fatal(err)
	}
	if d.waiting != maxWaiting || len(d.servers[0].waiting) != maxWaiting || d.tally.turnedAway == 0 {
		t.Errorf("%d wait, %d are turned away", d.waiting, d.tally.turnedAway)
	}
	d.interrupted.Store(true)
	if !d.end(time.Second) || d.tally.waiting != maxWaiting || d.waiting != 0 {
		t.Errorf("at the end %d wait, %d have", d.waiting, d.tally.waiting)
	}
}

func TestNoFlow(t *testing.T) {
	client, _ := newFlowBench(t, 1)
	spec := FlowSpec{Sizes: someSizes{1000}, Rate: 8e3, Connection: Spec{Duration: time.Nanosecond, QPTimeout: patient}}
	if r, err := client.Run(t.Context(), spec); r != nil || !errors.Is(err, errNoFlow) {
		t.Errorf("%+v, error %v", r, err)
	}
}
