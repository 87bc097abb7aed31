package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/braid-rdma/braid/sim/topology"
	"github.com/braid-rdma/braid/sim/workload"
)

// ringOfFive is five switches in a circle with a host each. A host two switches on is
// reached in the same sense by all, so that the buffers of the circle wait for
// each other.
func ringOfFive() topology.Builder {
	g := &topology.Graph{}
	for i := range 5 {
		g.AddHost(fmt.Sprintf("h%d", i), i)
	}
	for i := range 5 {
		g.AddSwitch(fmt.Sprintf("sw%d", i), 1)
	}
	for i := range 5 {
		g.AddLink(topology.Link{A: i, B: 5 + i, Rate: 10 * gbps, Delay: topology.Microsecond})
		g.AddLink(topology.Link{A: 5 + i, B: 5 + (i+1)%5, Rate: 10 * gbps, Delay: topology.Microsecond})
	}
	return built{g}
}

// twoOn is a flow from each host to the one two switches on.
func twoOn(bytes int64) (flows []workload.Flow) {
	for i := range 5 {
		flows = append(flows, workload.Flow{Src: i, Dst: (i + 2) % 5, Bytes: bytes})
	}
	return flows
}

// ringNetwork is the ring with or without PFC.
func ringNetwork(t *testing.T, pfc PFC) *Network {
	cfg := Config{Seed: 1}
	cfg.Switch = SwitchConfig{Buffer: 256 << 10, PFC: pfc}
	return newNetwork(t, ringOfFive(), cfg)
}

// TestDeadlockIsFound lets a circle of lossless switches lock up, and checks that
// it is seen, where, and that it is final.
func TestDeadlockIsFound(t *testing.T) {
	n := ringNetwork(t, PFC{On: true, XOFF: 16 << 10})
	traffic := carry(t, n, paper, twoOn(5_000_000)...)
	var circle []string
	for at := 100 * Microsecond; circle == nil && at < 20*Millisecond; at += 100 * Microsecond {
		n.Run(at)
		circle = n.Deadlock()
	}
	if len(circle) != 5 {
		t.Fatalf("the circle is %v, want all five links of the ring", circle)
	}
	for _, link := range circle {
		if strings.HasPrefix(link, "h") {
			t.Errorf("%s is part of the circle", link)
		}
	}
	before := n.Links()
	n.Run(n.Now() + Second)
	for i, l := range n.Links() {
		if slices.Contains(circle, l.Name) && l.Packets != before[i].Packets {
			t.Errorf("%s sent %d packets in a deadlock", l.Name, l.Packets-before[i].Packets)
		}
	}
	if again := n.Deadlock(); len(again) != 5 {
		t.Errorf("the deadlock went away: %v", again)
	}
	for i := range traffic.Flows() {
		if r := traffic.Result(i); r.Done() {
			t.Errorf("flow %d finished in spite of the deadlock", i)
		}
	}
}

// TestNoFalseDeadlock checks that mere congestion, with pauses everywhere, is not
// called a deadlock at any time.
func TestNoFalseDeadlock(t *testing.T) {
	cfg := Config{Seed: 1}
	cfg.Switch = SwitchConfig{Buffer: 1 << 20, PFC: PFC{On: true, XOFF: 8 << 10}}
	n := newNetwork(t, leafSpine(3, 4, 2), cfg)
	traffic := carry(t, n, paper, append(permutation(t, n, 500_000), incast(8, 300_000)...)...)
	for at := Time(0); traffic.Unfinished() > 0 && at < 100*Millisecond; at += 10 * Microsecond {
		n.Run(at)
		if circle := n.Deadlock(); circle != nil {
			t.Fatalf("at %v a deadlock of %v", at, circle)
		}
	}
	finish(t, n, traffic)
	if total(n).Pauses == 0 {
		t.Error("there were no pauses")
	}
}

// TestWatchdogEndsADeadlock checks that the watchdog, which lets stopped queues
// go, makes the circle move again.
func TestWatchdogEndsADeadlock(t *testing.T) {
	n := ringNetwork(t, PFC{On: true, XOFF: 16 << 10, Watchdog: 2 * Millisecond})
	traffic := carry(t, n, wired, twoOn(2_000_000)...)
	n.Run(20 * Second)
	checkDone(t, traffic)
	if len(n.Storms()) == 0 {
		t.Error("the watchdog reported nothing")
	}
}
