package sim

import (
	"errors"
	"testing"

	"github.com/braid-rdma/braid/sim/topology"
	"github.com/braid-rdma/braid/sim/workload"
	"github.com/braid-rdma/braid/verbs"
)

// Payload is 4096 of 4210 bytes on the link with MP's headers and framing, or with
// a smaller MTU 1024 of 1138.
const (
	payloadShare      = 4096.0 / 4210
	smallPayloadShare = 1024.0 / 1138
)

// fourPaths is a stream over four paths of 1 Gb/s, running at full speed.
func fourPaths(t *testing.T, qp verbs.QPOptions, marking Marking) (*Network, *Traffic) {
	t.Helper()
	cfg := Config{Seed: 1}
	cfg.Switch = SwitchConfig{Buffer: 2 << 20, Marking: marking}
	n := newNetwork(t, paths(4, 1*gbps, 4*gbps), cfg)
	traffic := stream(t, n, qp)
	n.Run(100 * Millisecond)
	if rate := goodput(n, traffic, 150*Millisecond); rate < 0.8*payloadShare*4e9 {
		t.Fatalf("%.2f Gb/s over four healthy paths of 1 Gb/s", rate/1e9)
	}
	return n, traffic
}

// dctcp marks from 20 packets on.
var dctcp = Marking{Kmin: 80_000, Kmax: 80_000, Pmax: 1}

// noError checks that the application saw no error.
func noError(t *testing.T, traffic *Traffic) {
	t.Helper()
	if r := traffic.Result(0); r.Err != nil {
		t.Errorf("the application saw %v", r.Err)
	}
}

// cutAndHeal cuts one path of four and checks that what is left is used within
// 100 ms, and all of it again within a second of healing.
func cutAndHeal(t *testing.T, d Direction) {
	n, traffic := fourPaths(t, wired, dctcp)
	impair(t, n, n.Now(), "tor0-path2", d, Impairment{Down: true})
	n.Run(n.Now() + 100*Millisecond)
	if rate := goodput(n, traffic, n.Now()+200*Millisecond); rate < 0.95*payloadShare*3e9 {
		t.Errorf("%.2f Gb/s over the three paths that are left", rate/1e9)
	}
	impair(t, n, n.Now(), "tor0-path2", d, Impairment{})
	n.Run(n.Now() + Second)
	if rate := goodput(n, traffic, n.Now()+100*Millisecond); rate < 0.95*payloadShare*4e9 {
		t.Errorf("%.2f Gb/s after healing", rate/1e9)
	}
	noError(t, traffic)
}

// Row 35: a path is cut in both directions.
func blackhole(t *testing.T) { cutAndHeal(t, Both) }

// Row 36: a path is cut in one direction: for data, then for acknowledgements.
func oneWayBlackhole(t *testing.T) {
	cutAndHeal(t, Forth)
	cutAndHeal(t, Back)
}

// Row 37: all paths are dead for two seconds, and the transfer resumes; for a
// minute, and it fails cleanly.
func allPathsDead(t *testing.T) {
	for _, dead := range []Time{2 * Second, 60 * Second} {
		n, traffic := fourPaths(t, wired, dctcp)
		everyPath(4, func(link string) {
			impair(t, n, n.Now(), link, Both, Impairment{Down: true})
			impair(t, n, n.Now()+dead, link, Both, Impairment{})
		})
		n.Run(n.Now() + dead + Second)
		err := traffic.Result(0).Err
		if dead == 60*Second {
			if !errors.Is(err, verbs.ErrRetryExceeded) {
				t.Errorf("after a minute: %v", err)
			}
			continue
		}
		if rate := goodput(n, traffic, n.Now()+100*Millisecond); err != nil || rate < 0.9*payloadShare*4e9 {
			t.Errorf("after two seconds: %.2f Gb/s, error %v", rate/1e9, err)
		}
	}
}

// Row 38: a path goes and comes; goodput stays above that of the three others,
// less a tenth.
func flapping(t *testing.T) {
	for _, period := range []Time{10 * Millisecond, 100 * Millisecond, 500 * Millisecond} {
		n, traffic := fourPaths(t, wired, dctcp)
		rounds := max(2, int(400*Millisecond/period))
		start := n.Now()
		for i := range Time(rounds) {
			impair(t, n, start+i*period, "tor0-path2", Both, Impairment{Down: true})
			impair(t, n, start+i*period+period/2, "tor0-path2", Both, Impairment{})
		}
		rate := goodput(n, traffic, start+Time(rounds)*period)
		t.Logf("period %v: %.2f Gb/s", period, rate/1e9)
		if rate < 0.9*payloadShare*3e9 {
			t.Errorf("period %v: %.2f Gb/s, three paths offer %.2f", period, rate/1e9, payloadShare*3)
		}
		noError(t, traffic)
	}
}

// Row 39: a path that runs at 1/40 of its rate costs no more than itself. The
// network is that of the paper's §5.2.1: five connections whose hosts offer more than
// the four paths of 40 Gb/s carry. The paper lost 3.94 % of the optimum, which is
// what the same connections get of healthy paths: with marks from 20 KB on, half of
// what a path holds in flight, queues run empty now and then, fault or no fault.
//
// A connection that is alone in the network loses more, since nobody else uses what
// it leaves. What a packet in the slow queue costs grows with the ratio of the rates:
// 20 KB take 160 µs at 1 Gb/s, in which the other paths could carry 2,100 packets, and
// the receiver tracks 64 (paper) or 1024 (wire).
func degradedLink(t *testing.T) {
	for _, test := range []struct {
		name        string
		qp          verbs.QPOptions
		connections int
		least       map[int64]float64 // by how many times slower the path is
	}{
		{"paper", paper, 5, map[int64]float64{40: 0.96}},
		{"wire", wired, 5, map[int64]float64{40: 0.96}},
		{"paper", paper, 1, map[int64]float64{40: 0.85}},
		{"wire", wired, 1, map[int64]float64{4: 0.85, 10: 0.75, 40: 0.85}},
	} {
		healthy := degradedShare(t, test.qp, test.connections, 1)
		for ratio, least := range test.least {
			share := degradedShare(t, test.qp, test.connections, ratio)
			t.Logf("%s, %d connections, one path at 1/%d: %.3f of what the paths carry, %.3f if all are healthy", test.name, test.connections, ratio, share, healthy)
			if share < least*healthy {
				t.Errorf("%s, %d connections, one path at 1/%d: %.3f of the optimum, want %.2f", test.name, test.connections, ratio, share/healthy, least)
			}
		}
	}
}

// Row 39, turned round: when three of four paths are slow the connection must not
// be slower than the good one, though most paths that it could choose are bad.
func mostLinksDegraded(t *testing.T) {
	const seeds = 3 // single runs at the largest ratio differ by a factor of two
	for ratio, least := range map[int64]float64{4: 0.85, 10: 0.8, 40: 0.75, 100: 0.5} {
		mean := 0.0
		for seed := range uint64(seeds) {
			mean += mostDegradedShare(t, seed+1, ratio) / seeds
		}
		t.Logf("three of four paths at 1/%d: %.3f of what the paths carry", ratio, mean)
		if mean < least {
			t.Errorf("three of four paths at 1/%d: %.3f of what the paths carry, want %.2f", ratio, mean, least)
		}
	}
}

// mostDegradedShare is the goodput as a share of what the paths carry.
func mostDegradedShare(t *testing.T, seed uint64, ratio int64) float64 {
	t.Helper()
	const rate, warm, measured = 1 * gbps, 200 * Millisecond, 300 * Millisecond
	cfg := Config{Seed: seed, MTU: 1024}
	cfg.Switch = SwitchConfig{Marking: Marking{Kmin: 20_000, Kmax: 20_000, Pmax: 1}, PFC: PFC{On: true}}
	n := newNetwork(t, paths(4, rate, 4*rate), cfg)
	for _, link := range []string{"tor0-path2", "tor0-path3", "tor0-path4"} {
		impair(t, n, 0, link, Both, Impairment{Rate: rate / ratio})
	}
	traffic, err := n.Carry([]workload.Flow{{Src: 0, Dst: 1, Message: 1 << 16}}, Carrier{QP: wired, Depth: 256})
	if err != nil {
		t.Fatal(err)
	}
	n.Run(warm)
	before := ackedByAll(traffic)
	n.Run(warm + measured)
	return float64(ackedByAll(traffic)-before) * 8 / measured.Seconds() / (float64(rate) * (1 + 3/float64(ratio)))
}

// degradedShare runs connections over four paths, one of which is slower than the
// others by a ratio, and returns their goodput relative to what the paths carry.
func degradedShare(t *testing.T, qp verbs.QPOptions, connections int, ratio int64) float64 {
	t.Helper()
	const rate, warm, measured = 40 * gbps, 5 * Millisecond, 10 * Millisecond
	topo := paths(4, rate, max(rate, 4*rate/int64(connections)))
	topo.Senders, topo.PathDelay = connections, topology.Microsecond
	cfg := Config{Seed: 1, MTU: 1024}
	cfg.Switch = SwitchConfig{Marking: Marking{Kmin: 20_000, Kmax: 20_000, Pmax: 1}, PFC: PFC{On: true}}
	n := newNetwork(t, topo, cfg)
	impair(t, n, 0, "tor0-path2", Both, Impairment{Rate: rate / ratio})
	var flows []workload.Flow
	for i := range connections {
		flows = append(flows, workload.Flow{Src: i, Dst: connections + i, Message: 1 << 16})
	}
	// The application never holds the transport back.
	traffic, err := n.Carry(flows, Carrier{QP: qp, Depth: 256})
	if err != nil {
		t.Fatal(err)
	}
	n.Run(warm)
	before := ackedByAll(traffic)
	n.Run(warm + measured)
	goodput := float64(ackedByAll(traffic)-before) * 8 / measured.Seconds()
	for i := range flows {
		if err := traffic.Result(i).Err; err != nil {
			t.Errorf("connection %d: %v", i, err)
		}
	}
	return goodput / (float64(3*rate+rate/ratio) * smallPayloadShare)
}

// ackedByAll is the payload of all flows that has been acknowledged so far.
func ackedByAll(traffic *Traffic) (bytes int64) {
	for i := range traffic.Flows() {
		bytes += traffic.Acked(i)
	}
	return bytes
}

// Row 40: three paths of four lose packets silently; each could carry all of it
// alone, and so the good one does.
func silentLoss(t *testing.T) {
	for _, loss := range []float64{0.005, 0.02, 0.1} {
		cfg := Config{Seed: 1}
		cfg.Switch.Marking = dctcp
		n := newNetwork(t, paths(4, 4*gbps, 4*gbps), cfg)
		for _, link := range []string{"tor0-path1", "tor0-path2", "tor0-path3"} {
			impair(t, n, 0, link, Forth, Impairment{Loss: loss})
		}
		traffic := stream(t, n, wired)
		n.Run(200 * Millisecond)
		rate := goodput(n, traffic, 400*Millisecond) / (payloadShare * 4e9)
		t.Logf("loss %v: %.3f of the good path", loss, rate)
		if rate < 0.95 {
			t.Errorf("loss %v: %.3f of what the good path can carry", loss, rate)
		}
		noError(t, traffic)
	}
}

// Row 41: one path never marks, or marks everything, or far too late; goodput does
// not collapse.
func markingMisconfigured(t *testing.T) {
	for name, m := range map[string]Marking{
		"never":    {},
		"always":   {Kmin: 1, Kmax: 1, Pmax: 1},
		"too late": {Kmin: 1_000_000, Kmax: 1_500_000, Pmax: 1},
	} {
		n, traffic := fourPaths(t, wired, dctcp)
		i, ok := n.LinkNumber("tor0", "path2")
		if !ok {
			t.Fatal("no such link")
		}
		if err := n.SetMarking(i, m); err != nil {
			t.Fatal(err)
		}
		n.Run(n.Now() + 100*Millisecond)
		rate := goodput(n, traffic, n.Now()+300*Millisecond) / (payloadShare * 4e9)
		t.Logf("%s: %.3f of the four paths", name, rate)
		if rate < 0.9 {
			t.Errorf("%s: %.3f of the four paths", name, rate)
		}
		noError(t, traffic)
	}
}
