package sim

import (
	"math"
	"testing"

	"github.com/braid-rdma/braid/sim/topology"
	"github.com/braid-rdma/braid/sim/workload"
)

// contest sends endless flows of several priorities through one link and returns
// the bytes that each got in a millisecond.
func contest(t *testing.T, weights []int, classes ...int) (bytes [priorities]float64) {
	t.Helper()
	cfg := Config{Seed: 1}
	cfg.Switch = SwitchConfig{Weights: weights, PFC: PFC{On: true}}
	n := newNetwork(t, star(len(classes)+1, 10*gbps), cfg)
	var flows []workload.Flow
	for i, class := range classes {
		flows = append(flows, workload.Flow{Src: i + 1, Dst: 0, Priority: class, Message: 1 << 20})
	}
	traffic := carry(t, n, paper, flows...)
	n.Run(2 * Millisecond)
	var before [priorities]float64
	for i, class := range classes {
		before[class] = float64(traffic.Acked(i))
	}
	n.Run(60 * Millisecond)
	for i, class := range classes {
		bytes[class] = float64(traffic.Acked(i)) - before[class]
	}
	if err := n.Audit(); err != nil {
		t.Error(err)
	}
	return bytes
}

// TestStrictPriority checks that a higher class takes all that it wants.
func TestStrictPriority(t *testing.T) {
	got := contest(t, nil, 2, 5)
	if share := got[5] / (got[2] + got[5]); share < 0.98 {
		t.Errorf("the higher priority has %.3f of the link", share)
	}
}

// TestWeightedShares checks the shares of three classes.
func TestWeightedShares(t *testing.T) {
	got := contest(t, []int{1, 1, 1, 2, 5, 1, 1, 1}, 1, 3, 4)
	sum := got[1] + got[3] + got[4]
	for class, want := range map[int]float64{1: 1.0 / 8, 3: 2.0 / 8, 4: 5.0 / 8} {
		if share := got[class] / sum; math.Abs(share-want) > 0.02 {
			t.Errorf("priority %d has %.3f of the link, want %.3f", class, share, want)
		}
	}
}

// TestSharesByTheByte checks deficit round robin packet by packet: the shares
// hold for classes of short and of long packets.
func TestSharesByTheByte(t *testing.T) {
	s := shares{weights: [priorities]int32{3, 1}}
	size := [2]int32{200, 4200}
	var bytes [2]int64
	for range 100_000 {
		p := s.choose(0b11)
		s.charge(p, size[p])
		bytes[p] += int64(size[p])
	}
	if ratio := float64(bytes[0]) / float64(bytes[1]); math.Abs(ratio-3) > 0.02 {
		t.Errorf("the shares are %.3f to 1, want 3", ratio)
	}
	for wanting := uint8(1); wanting != 0; wanting++ {
		if p := s.choose(wanting); wanting&(1<<p) == 0 {
			t.Fatalf("chose %d of %08b", p, wanting)
		}
	}
}

// TestHostsWithTwoNICs checks that a host with two links uses both.
func TestHostsWithTwoNICs(t *testing.T) {
	g := &topology.Graph{}
	a, b := g.AddHost("a", 0), g.AddHost("b", 1)
	for _, name := range []string{"left", "right"} {
		sw := g.AddSwitch(name, 1)
		g.AddLink(topology.Link{A: a, B: sw, Rate: 10 * gbps, Delay: topology.Microsecond})
		g.AddLink(topology.Link{A: sw, B: b, Rate: 10 * gbps, Delay: topology.Microsecond})
	}
	for _, qp := range []string{"MP", "RC"} {
		n := newNetwork(t, built{g}, Config{Seed: 1, Verify: true})
		o := paper
		if qp == "RC" {
			// One path, but the NIC that is free sends: packets overtake a little.
			o = rc
		}
		traffic := carry(t, n, o, workload.Flow{Src: 0, Dst: 1, Bytes: 2_000_000})
		finish(t, n, traffic)
		r := traffic.Result(0)
		if rate := r.Goodput(n.Now()) / 1e9; qp == "MP" && rate < 16 {
			t.Errorf("%s over two links of 10 Gb/s: %.1f Gb/s", qp, rate)
		}
		for _, l := range n.Links() {
			if l.From == "a" && l.Packets < 200 {
				t.Errorf("%s: the link to %s carried %d packets", qp, l.To, l.Packets)
			}
		}
	}
}
