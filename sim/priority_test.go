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

// queuedPort is a port with packets of one size in the queue of each priority; 0: none.
func queuedPort(weights []int, sizes ...int32) *egress {
	e := &egress{usual: 7, shares: (&SwitchConfig{Weights: weights}).newShares()}
	for priority, size := range sizes {
		for range 3000 {
			if size > 0 {
				e.queue(uint8(priority)).push(&packet{size: size, priority: uint8(priority)})
				e.waiting |= 1 << priority
			}
		}
	}
	return e
}

// turns are the priorities of the next packets, as letters from A on.
func turns(e *egress, packets int) (order string) {
	for range packets {
		order += string(rune('A' + e.next().priority))
	}
	return order
}

// TestDeficitRoundRobin follows the deficits of packets of 1000 bytes with weight 2 (A) and
// of 1500 with weight 1 (B). A earns 2048 a turn and sends two, B earns 1024:
//
//	round   A has, keeps   B has, keeps
//	  1      2048     48    1024   1024  too little
//	  2      2096     96    2048    548  one packet
//	  3      2144    144    1572     72  one packet
//	  4      2192    192    1096   1096  too little
//	  5      2240    240    2120    620  one packet
func TestDeficitRoundRobin(t *testing.T) {
	e := queuedPort([]int{2, 1}, 1000, 1500)
	if got, want := turns(e, 13), "AA"+"AAB"+"AAB"+"AA"+"AAB"; got != want {
		t.Errorf("sent %s, want %s", got, want)
	}
	// Stopped, it keeps its 240 bytes and earns nothing; then it has 2288 and keeps 288.
	e.paused = 1 << 0
	if got := turns(e, 2); got != "BB" {
		t.Errorf("sent %s while A is stopped", got)
	}
	e.paused = 0
	if got := turns(e, 2); got != "AA" || e.shares.deficit[0] != 288 {
		t.Errorf("sent %s, and A keeps %d bytes; want AA and 288", got, e.shares.deficit[0])
	}
}

// TestEmptyQueueForgetsItsDeficit lets A, as above, run out of packets after one: what is
// left of its turn, 1048 bytes, is gone. When it is back it has 2048 and sends two packets,
// where it would send three with what it had left.
func TestEmptyQueueForgetsItsDeficit(t *testing.T) {
	e := queuedPort([]int{2, 1}, 0, 1500)
	e.queue(0).push(&packet{size: 1000})
	e.waiting |= 1 << 0
	if got := turns(e, 2); got != "AB" {
		t.Errorf("sent %s, want AB", got)
	}
	for range 10 {
		e.queue(0).push(&packet{size: 1000})
	}
	e.waiting |= 1 << 0
	// B has 548 left and gets 1024.
	if got := turns(e, 4); got != "AABA" {
		t.Errorf("sent %s, want AABA", got)
	}
}

// TestSharesByTheByte checks that the shares hold for short and for long packets.
func TestSharesByTheByte(t *testing.T) {
	e := queuedPort([]int{3, 1}, 200, 4200)
	bytes := [2]int{}
	for range 2500 {
		p := e.next()
		bytes[p.priority] += int(p.size)
	}
	if ratio := float64(bytes[0]) / float64(bytes[1]); math.Abs(ratio-3) > 0.05 {
		t.Errorf("the shares are %.3f to 1, want 3", ratio)
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
