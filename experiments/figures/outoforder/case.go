// Package outoforder is what figures 1, 14a and 14b of MP-RDMA have in common (§5.2.1): five connections across the four
// paths of the testbed, one path of which differs from the others.
//
// A Case says what is wrong with path 4, how many packets the receiver tracks (L) and at what degree the sender prunes a
// path (Δ). Degrees are those of all packets that a receiver accepted, pooled over connections and seeds.
package outoforder

import (
	"fmt"

	"github.com/braid-rdma/braid/experiments/experiment"
	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/transport"
)

// Condition is what path 4 is like (§5.2.1), by the paper's names.
type Condition string

// The three scenarios of §5.2.1.
const (
	Normal        Condition = "normal"           // every path marks from 20 KB on
	Misconfigured Condition = "ECN mis-config"   // path 4 marks from 240 KB on
	Degraded      Condition = "link degradation" // path 4 runs at 1 Gb/s instead of 40
)

// Conditions lists the scenarios in the order of the paper.
func Conditions() []Condition { return []Condition{Normal, Misconfigured, Degraded} }

// The settings of §5.2.1.
const (
	// PublishedMisconfigured and PublishedDegraded are the 99.9th percentiles of the out-of-order degree without control
	// (footnote 6).
	PublishedMisconfigured = 179
	PublishedDegraded      = 5324

	// MisconfiguredThreshold is the marking threshold of path 4 in bytes.
	MisconfiguredThreshold = 240_000

	// Untracked stands for an infinite bitmap, and as Δ for no control.
	Untracked = transport.MaxTrackingSlots

	degradedRate = 1e9

	// never is an age, in round trips, that no packet reaches.
	never = 1e6
)

// Case is one experiment.
type Case struct {
	Condition Condition
	Slots     int // L
	Delta     int // Δ; equal to Slots: no control of the order
	Threshold int // the marking threshold of path 4 in bytes; 0: what the condition says
	// Waits keeps the sender within L of the first packet that is missing, until that packet arrives by the path that it
	// was sent by: nothing is refused, and nothing sent again.
	Waits bool
}

// Name tells a case from the others.
func (c Case) Name() string {
	control := "no control"
	if c.Delta < c.Slots {
		control = fmt.Sprintf("Δ=%d", c.Delta)
	}
	text := fmt.Sprintf("%v, L=%d, %s", c.Condition, c.Slots, control)
	if c.Waits {
		text += ", waiting for the slow path"
	}
	if c.Threshold > 0 {
		text += fmt.Sprintf(", path 4 marks from %d KB", c.Threshold/1000)
	}
	return text
}

// Run is the case for the driver. What happens before warm is not counted, because the paper measured connections that had
// been running for long; a quick run warms up and measures as long as quick.
func (c Case) Run(seeds int, warm, measured, quick sim.Time) experiment.Case {
	return experiment.Case{Name: c.Name(), Seeds: seeds, Warm: warm, For: measured, QuickWarm: quick, Quick: quick, Change: c.change}
}

// change turns the base scenario, the normal one, into the case.
func (c Case) change(s *scenario.Scenario) {
	mp := s.Transports["mp"].MP
	mp.Slots, mp.Delta = c.Slots, 0 // even a late duplicate prunes no path
	if c.Delta < c.Slots {
		mp.Delta = c.Delta
	}
	if c.Waits {
		mp.WindowedSpan, mp.EarlyRetransmit = true, never
	}
	threshold := scenario.Bytes(c.Threshold)
	if threshold == 0 && c.Condition == Misconfigured {
		threshold = MisconfiguredThreshold
	}
	if threshold > 0 {
		override := &scenario.LinkOverride{ECN: scenario.ECN{Kmin: threshold, Kmax: threshold, Pmax: 1}, Direction: sim.Forth}
		s.Fabric.Links = map[string]*scenario.LinkOverride{"tor0-path4": override, "path4-tor1": override}
	}
	if c.Condition == Degraded {
		// One cable has negotiated a lower rate, in both directions.
		s.Faults = []*scenario.Fault{{Link: scenario.Names{"tor0-path4"}, Impairment: sim.Impairment{Rate: degradedRate}}}
	}
}
