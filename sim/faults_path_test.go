package sim

import (
	"errors"
	"testing"

	"github.com/braid-rdma/braid/verbs"
)

// Payload is 4096 of 4248 bytes on the link with MP's headers and framing.
const payloadShare = 0.96

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

// Row 39: a degraded path costs no more than itself. The paper lost 3.94 % of the
// optimum. What a window of packets in the slow queue costs grows with the ratio
// of the rates, and with the paper's L=64 it soon costs everything (figure 14).
func degradedLink(t *testing.T) {
	for _, test := range []struct {
		name  string
		qp    verbs.QPOptions
		ratio int64
		least float64
	}{
		{"paper", paper, 2, 0.8}, {"wire", wired, 4, 0.96}, {"wire", wired, 10, 0.9},
	} {
		cfg := Config{Seed: 1, MTU: 1024}
		cfg.Switch.Marking = dctcp
		n := newNetwork(t, paths(4, 10*gbps, 40*gbps), cfg)
		traffic := stream(t, n, test.qp)
		n.Run(10 * Millisecond)
		impair(t, n, n.Now(), "tor0-path2", Forth, Impairment{Rate: 10 * gbps / test.ratio})
		n.Run(20 * Millisecond)
		// Payload is 1024 of 1166 bytes.
		optimum := (30e9 + 10e9/float64(test.ratio)) * 1024 / 1166
		rate := goodput(n, traffic, 35*Millisecond) / optimum
		t.Logf("%s, one path at 1/%d: %.3f of the optimum", test.name, test.ratio, rate)
		if rate < test.least {
			t.Errorf("%s, one path at 1/%d: %.3f of the optimum, want %.2f", test.name, test.ratio, rate, test.least)
		}
		noError(t, traffic)
	}
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
		if rate < 0.9 {
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
		if rate < 0.7 {
			t.Errorf("%s: %.3f of the four paths", name, rate)
		}
		noError(t, traffic)
	}
}

// Row 42: ends that want different MTUs agree on the smaller. A network that drops
// long packets in silence is beyond a simulator whose links carry any length; the
// UDP engine's tests have one.
func mtuMismatch(t *testing.T) {
	for name, qp := range map[string]verbs.QPOptions{"RC": rc, "MP": wired} {
		n := newNetwork(t, paths(2, 10*gbps, 10*gbps), Config{Seed: 1, Verify: true})
		a := newSide(t, n, 0, qp)
		qp.Conn.MTU = 256
		b := newSide(t, n, 1, qp)
		a.must(a.qp.Connect(b.qp.Params()))
		b.must(b.qp.Connect(a.qp.Params()))
		copy(a.mr.Bytes(), "hello")
		a.request(verbs.SendWR{Op: verbs.OpWrite, SGEs: []verbs.SGE{{MR: a.mr, Length: 5000}}, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey()})
		if sent := a.qp.Stats().PacketsSent; sent != 20 || string(b.mr.Bytes()[:5]) != "hello" {
			t.Errorf("%s: 5000 bytes took %d packets, want 20", name, sent)
		}
	}
}
