package sim

import (
	"errors"
	"math"
	"testing"

	"github.com/braid-rdma/braid/sim/workload"
	"github.com/braid-rdma/braid/verbs"
)

// TestMarkingFollowsItsFormula compares the share of marked packets at each queue
// length with RED's formula.
func TestMarkingFollowsItsFormula(t *testing.T) {
	red := Marking{Kmin: 10_000, Kmax: 50_000, Pmax: 0.2}
	dctcp := Marking{Kmin: 30_000, Kmax: 30_000, Pmax: 1}
	tests := []struct {
		name   string
		m      Marking
		queued int32
		want   float64
	}{
		{"below Kmin", red, 9_999, 0},
		{"at Kmin", red, 10_000, 0},
		{"a quarter", red, 20_000, 0.05},
		{"half", red, 30_000, 0.1},
		{"just below Kmax", red, 49_999, 0.2},
		{"at Kmax", red, 50_000, 1},
		{"beyond", red, 1_000_000, 1},
		{"DCTCP below", dctcp, 29_999, 0},
		{"DCTCP at K", dctcp, 30_000, 1},
		{"none", Marking{}, 1_000_000, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			const rolls = 200_000
			if err := test.m.prepare(); err != nil {
				t.Fatal(err)
			}
			d := newDice(1, 2)
			hits := 0
			for range rolls {
				if test.queued >= test.m.low && test.m.hits(test.queued, &d) {
					hits++
				}
			}
			got := float64(hits) / rolls
			if slack := 4 * math.Sqrt(test.want*(1-test.want)/rolls); math.Abs(got-test.want) > slack+1e-12 {
				t.Errorf("%.4f of the packets are marked, want %.4f", got, test.want)
			}
		})
	}
}

// TestQueueMarks lets a queue grow packet by packet and counts the marks: with
// DCTCP's marking exactly those that join a queue of K bytes or more.
func TestQueueMarks(t *testing.T) {
	cfg := Config{Seed: 1}
	cfg.Switch.Marking = Marking{Kmin: 10_000, Kmax: 10_000, Pmax: 1}
	n := newNetwork(t, star(3, 10*gbps), cfg)
	// Two senders at once: the queue grows by one packet for each pair.
	for range 40 {
		inject(n, 0, 2, 1000, 3, 0)
		inject(n, 1, 2, 1000, 3, 0)
	}
	n.Run(Second)
	i, _ := n.LinkNumber("sw", "hc")
	l := n.Link(i)
	// The k-th pair finds k-1 packets waiting, or k (its second packet): those
	// from the eleventh pair on, and the second one of the tenth, find 10,000 B.
	if l.Marked < 58 || l.Marked > 62 {
		t.Errorf("%d of 80 packets are marked, want about 60", l.Marked)
	}
	if l.PeakQueue < 38_000 || l.PeakQueue > 41_000 {
		t.Errorf("the longest queue was %d bytes, want about 40,000", l.PeakQueue)
	}
}

// TestDepartingPacketsAreMarked lets the same queue grow: a packet is marked by what it
// leaves behind, so the marks are on the packets at the head of the long queue.
func TestDepartingPacketsAreMarked(t *testing.T) {
	cfg := Config{Seed: 1}
	cfg.Switch.Marking = Marking{Kmin: 10_000, Kmax: 10_000, Pmax: 1, Departing: true}
	n := newNetwork(t, star(3, 10*gbps), cfg)
	for range 40 {
		inject(n, 0, 2, 1000, 3, 0)
		inject(n, 1, 2, 1000, 3, 0)
	}
	i, _ := n.LinkNumber("sw", "hc")
	var marks []bool
	n.lanes[i].tap = func(_ Time, p *packet) { marks = append(marks, p.marked) }
	n.Run(Second)
	// The queue grows by one packet for each that leaves, to 40, and then drains: the
	// tenth or eleventh leaves 10,000 B behind, the last eleven less.
	for k, marked := range marks {
		if want := k >= 11 && k < 69; marked != want && (k < 9 || k > 71 || k > 12 && k < 68) {
			t.Errorf("packet %d of %d is marked: %v", k+1, len(marks), marked)
		}
	}
	if got := n.Link(i).Marked; len(marks) != 80 || got < 58 || got > 62 {
		t.Errorf("%d of %d packets are marked, want about 60 of 80", got, len(marks))
	}
}

// TestMarkingPerRate checks that thresholds follow the rate of the link.
func TestMarkingPerRate(t *testing.T) {
	for _, rate := range []int64{25 * gbps, 40 * gbps, 100 * gbps} {
		cfg := Config{Seed: 1}
		cfg.Switch.Marking = MarkingHPCC()
		n := newNetwork(t, star(2, rate), cfg)
		i, _ := n.LinkNumber("sw", "ha")
		m := n.lanes[i].marking
		if want := int32(rate / gbps * 4000); m.low != want || m.high != 4*want {
			t.Errorf("at %d Gb/s the thresholds are %d and %d, want %d and %d", rate/gbps, m.low, m.high, want, 4*want)
		}
		if odds := m.slope * float64(m.high-m.low); math.Abs(odds-0.2) > 1e-9 {
			t.Errorf("at %d Gb/s the probability rises to %v", rate/gbps, odds)
		}
	}
}

// TestOnlyCapablePacketsAreMarked lets RC transfers meet a switch that marks everything:
// its acknowledgements and notices arrive without marks.
func TestOnlyCapablePacketsAreMarked(t *testing.T) {
	cfg := Config{Seed: 1}
	cfg.Switch.Marking = Marking{Kmin: 1, Kmax: 1, Pmax: 1}
	n := newNetwork(t, star(3, 10*gbps), cfg)
	seen := map[bool]int{} // by whether a packet carries payload
	for _, lane := range n.lanes {
		lane.tap = func(_ Time, p *packet) {
			if p.marked {
				seen[p.Length > 0]++
			}
		}
	}
	// Both directions have a queue, so that acknowledgements join it.
	var flows []workload.Flow
	for _, pair := range [][2]int{{0, 2}, {1, 2}, {2, 0}, {1, 0}} {
		flows = append(flows, workload.Flow{Src: pair[0], Dst: pair[1], Bytes: 500_000})
	}
	finish(t, n, carry(t, n, verbs.QPOptions{Type: verbs.RC}, flows...))
	if seen[true] == 0 || seen[false] != 0 {
		t.Errorf("%d packets with payload were marked and %d without", seen[true], seen[false])
	}
}

// TestMarkHoldsTheQueue checks the whole loop: senders that are told of marks keep the
// queue near the threshold, and without marks they fill it.
func TestMarkHoldsTheQueue(t *testing.T) {
	peak := func(m Marking) int {
		cfg := Config{Seed: 1}
		cfg.Switch.Marking = m
		n := newNetwork(t, star(5, 10*gbps), cfg)
		var flows []workload.Flow
		for src := range 4 {
			flows = append(flows, workload.Flow{Src: src, Dst: 4, Bytes: 3_000_000})
		}
		finish(t, n, carry(t, n, paper, flows...))
		i, _ := n.LinkNumber("sw", "he")
		return n.Link(i).PeakQueue
	}
	marked, unmarked := peak(Marking{Kmin: 50_000, Kmax: 50_000, Pmax: 1}), peak(Marking{})
	if marked > 700_000 || unmarked < 2*marked {
		t.Errorf("the longest queue was %d bytes with marking and %d without", marked, unmarked)
	}
}

func TestMarkingRefused(t *testing.T) {
	for _, m := range []Marking{
		{Kmin: 2, Kmax: 1}, {Kmin: -1, Kmax: 1}, {Kmin: 1, Kmax: 2, Pmax: 1.1}, {Kmin: 1, Kmax: 2, Pmax: math.NaN()}, {Kmin: 1, Kmax: noMarking}, {Kmin: 1, Kmax: 2, Per: -1},
	} {
		if err := m.prepare(); !errors.Is(err, ErrConfig) {
			t.Errorf("%+v: %v", m, err)
		}
	}
}
