package sim

import (
	"errors"
	"math"
	"testing"

	"github.com/braid-rdma/braid/sim/workload"
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
		{Kmin: 2, Kmax: 1}, {Kmin: -1, Kmax: 1}, {Kmin: 1, Kmax: 2, Pmax: 1.1}, {Kmin: 1, Kmax: 2, Pmax: math.NaN()}, {Kmin: 1, Kmax: noMarking},
	} {
		if err := m.prepare(); !errors.Is(err, ErrConfig) {
			t.Errorf("%+v: %v", m, err)
		}
	}
}
