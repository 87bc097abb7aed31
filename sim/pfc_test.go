package sim

import (
	"testing"

	"github.com/braid-rdma/braid/sim/workload"
)

// incast is flows from many hosts to host 0.
func incast(senders int, bytes int64) (flows []workload.Flow) {
	for i := range senders {
		flows = append(flows, workload.Flow{Src: i + 1, Dst: 0, Bytes: bytes})
	}
	return flows
}

// pauseCount counts XOFF and XON frames as each egress obeys them.
type pauseCount struct{ offs, ons map[string]int }

// countPauses counts the PFC frames that are sent.
func countPauses(n *Network) pauseCount {
	h := pauseCount{map[string]int{}, map[string]int{}}
	for _, lane := range n.lanes {
		name := lane.peer.twin.name // what the frame stops
		lane.extras().spoil = func(kind pauseFrame) bool {
			if kind == pauseOff {
				h.offs[name]++
			} else {
				h.ons[name]++
			}
			return false
		}
	}
	return h
}

// TestPFCLosesNothing sends from sixteen hosts to one through a small buffer.
func TestPFCLosesNothing(t *testing.T) {
	for _, pfc := range []PFC{{On: true}, {On: true, XOFF: 8 << 10}} {
		cfg := Config{Seed: 1}
		cfg.Switch = SwitchConfig{Buffer: 1 << 20, PFC: pfc}
		n := newNetwork(t, star(17, 10*gbps), cfg)
		h := countPauses(n)
		traffic := carry(t, n, paper, incast(16, 500_000)...)
		finish(t, n, traffic)
		sum := total(n)
		if sum.Dropped != 0 || sum.Pauses == 0 {
			t.Errorf("XOFF=%d: %d drops and %d pauses, want none and some", pfc.XOFF, sum.Dropped, sum.Pauses)
		}
		for lane, offs := range h.offs {
			if h.ons[lane] != offs {
				t.Errorf("%s was stopped %d times and let go %d times", lane, offs, h.ons[lane])
			}
		}
		for i := range traffic.Flows() {
			if r := traffic.Result(i); r.Retransmitted != 0 {
				t.Errorf("flow %d sent %d packets again", i, r.Retransmitted)
			}
		}
	}
}

// TestPFCSpreads checks that a pause travels two switches back: the receiver's
// leaf stops the spine, which stops the senders' leaf, which stops the senders.
func TestPFCSpreads(t *testing.T) {
	cfg := Config{Seed: 1}
	cfg.Switch = SwitchConfig{Buffer: 1 << 20, PFC: PFC{On: true, XOFF: 20 << 10}}
	topo := leafSpine(2, 8, 1)
	topo.FabricRate = 80 * gbps
	n := newNetwork(t, topo, cfg)
	var flows []workload.Flow
	for i := range 8 {
		flows = append(flows, workload.Flow{Src: 8 + i, Dst: 0, Bytes: 1_000_000})
	}
	finish(t, n, carry(t, n, paper, flows...))
	for _, hop := range [][2]string{{"spine0", "leaf0"}, {"leaf1", "spine0"}, {"h8", "leaf1"}} {
		i, _ := n.LinkNumber(hop[0], hop[1])
		if l := n.Link(i); l.Pauses == 0 || l.Paused == 0 {
			t.Errorf("%s was stopped %d times for %v", l.Name, l.Pauses, l.Paused)
		}
	}
	i, _ := n.LinkNumber("h0", "leaf0")
	if l := n.Link(i); l.Pauses != 0 {
		t.Errorf("the receiver's own link was stopped %d times", l.Pauses)
	}
	if sum := total(n); sum.Dropped != 0 {
		t.Errorf("%d drops", sum.Dropped)
	}
}

// TestLossyDrops checks that without PFC a full buffer drops, that a dynamic
// threshold keeps one queue from taking all, and that the flows recover.
func TestLossyDrops(t *testing.T) {
	for _, shift := range []uint{0, 2} {
		cfg := Config{Seed: 1}
		cfg.Switch = SwitchConfig{Buffer: 128 << 10, QueueShift: shift}
		n := newNetwork(t, star(9, 10*gbps), cfg)
		traffic := carry(t, n, wired, incast(8, 400_000)...)
		finish(t, n, traffic)
		i, _ := n.LinkNumber("sw", "ha")
		l := n.Link(i)
		if l.Dropped == 0 || l.Pauses != 0 {
			t.Errorf("%d drops and %d pauses", l.Dropped, l.Pauses)
		}
		most := 128 << 10
		if shift == 2 {
			// A queue of at most a quarter of what it leaves is a fifth of all.
			most = 128 << 10 / 5
		}
		if l.PeakQueue > most || l.PeakQueue < most*9/10-5000 {
			t.Errorf("shift %d: the longest queue was %d bytes, want close to %d", shift, l.PeakQueue, most)
		}
	}
}

// TestPFCCoversSomePriorities checks that only lossless classes are stopped.
func TestPFCCoversSomePriorities(t *testing.T) {
	cfg := Config{Seed: 1}
	cfg.Switch = SwitchConfig{Buffer: 256 << 10, PFC: PFC{On: true, XOFF: 8 << 10, Lossless: 1 << 3}}
	for _, priority := range []int{3, 4} {
		n := newNetwork(t, star(9, 10*gbps), cfg)
		flows := incast(8, 400_000)
		for i := range flows {
			flows[i].Priority = priority
		}
		finish(t, n, carry(t, n, wired, flows...))
		if sum := total(n); (sum.Pauses > 0) != (priority == 3) || (sum.Dropped > 0) != (priority == 4) {
			t.Errorf("priority %d: %d pauses and %d drops", priority, sum.Pauses, sum.Dropped)
		}
	}
}

// TestBuffersAreGivenBack runs each kind of switch and audits in mid-run, too.
func TestBuffersAreGivenBack(t *testing.T) {
	switches := map[string]SwitchConfig{
		"lossy":    {Buffer: 64 << 10},
		"lossless": {Buffer: 1 << 20, PFC: PFC{On: true, XOFF: 10 << 10}},
		"weighted": {Buffer: 1 << 20, Weights: []int{1, 2, 3, 4, 5, 6, 7, 8}},
		"marking":  {Buffer: 1 << 20, Marking: Marking{Kmin: 5000, Kmax: 20000, Pmax: 0.5}},
	}
	for name, sw := range switches {
		for _, workers := range []int{1, 2} {
			n := newNetwork(t, leafSpine(3, 4, 2), Config{Seed: 2, Workers: workers, Switch: sw})
			flows := append(permutation(t, n, 300_000), incast(6, 100_000)...)
			for i := range flows {
				flows[i].Priority = 1 + i%7
			}
			impair(t, n, 0, "leaf0-spine0", Both, Impairment{Loss: 0.01, Duplicate: 0.01, Jitter: 5 * Microsecond})
			traffic := carry(t, n, wired, flows...)
			for slice := range Time(20) {
				n.Run((slice + 1) * 30 * Microsecond)
				if err := n.Audit(); err != nil {
					t.Fatalf("%s, %d workers, at %v: %v", name, workers, n.Now(), err)
				}
			}
			finish(t, n, traffic)
			for _, s := range n.switches {
				if s != nil && s.used != 0 {
					t.Errorf("%s: switch %s still holds %d bytes", name, s.name, s.used)
				}
			}
		}
	}
}

// TestAuditFindsWhatIsWrong cooks the books in each way.
func TestAuditFindsWhatIsWrong(t *testing.T) {
	tests := map[string]func(n *Network){
		"packet vanishes": func(n *Network) { n.shards[0].pool.take() },
		"buffer":          func(n *Network) { n.switches[3].used++ },
		"shared part":     func(n *Network) { n.switches[3].shared++ },
		"ingress":         func(n *Network) { n.switches[3].ins[0].buffered[3]-- },
		"link":            func(n *Network) { n.lanes[0].sent++ },
		"queue":           func(n *Network) { n.switches[3].ports[0].queue(3).bytes++ },
	}
	for name, cook := range tests {
		n := newNetwork(t, star(3, 10*gbps), Config{})
		for range 10 {
			inject(n, 0, 2, 1000, 3, 0)
			inject(n, 1, 2, 1000, 3, 0)
		}
		n.Run(5 * Microsecond)
		if err := n.Audit(); err != nil {
			t.Fatal(err)
		}
		cook(n)
		if err := n.Audit(); err == nil {
			t.Errorf("%s: not found", name)
		}
	}
	n := newNetwork(t, star(3, 10*gbps), Config{})
	inject(n, 0, 2, 1000, 3, 0)
	if err := n.AuditEnd(); err == nil {
		t.Error("a packet on its way is not left over")
	}
}
