package outoforder

import (
	"fmt"
	"strings"

	"github.com/braid-rdma/braid/transport"
)

// Condition is what path 4 is like (§5.2.1).
type Condition int

// The three scenarios of §5.2.1.
const (
	Normal        Condition = iota // every path marks from 20 KB on
	Misconfigured                  // path 4 marks from 240 KB on
	Degraded                       // path 4 runs at 1 Gb/s instead of 40
)

// Conditions lists the scenarios in the order of the paper.
func Conditions() []Condition { return []Condition{Normal, Misconfigured, Degraded} }

// String is the paper's name of the scenario.
func (c Condition) String() string {
	switch c {
	case Normal:
		return "normal"
	case Misconfigured:
		return "ECN mis-config"
	case Degraded:
		return "link degradation"
	}
	return fmt.Sprintf("condition %d", int(c))
}

// The settings of §5.2.1.
const (
	// PublishedMisconfigured and PublishedDegraded are the 99.9th percentiles of
	// the out-of-order degree without control (footnote 6).
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
	// Threshold is the marking threshold of path 4 in bytes; 0: what the
	// condition says.
	Threshold int
	// Waits keeps the sender within L of the first packet that is missing, until
	// that packet arrives by the path that it was sent by: nothing is refused, and
	// nothing sent again.
	Waits bool
}

// controlled says whether the sender prunes slow paths.
func (c Case) controlled() bool { return c.Delta < c.Slots }

// String tells a case from the others.
func (c Case) String() string {
	control := "no control"
	if c.controlled() {
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

// overrides turn the base scenario, the normal one, into the case.
func (c Case) overrides(seed uint64) []string {
	delta := c.Delta
	if !c.controlled() {
		delta = 0 // even a late duplicate prunes no path
	}
	set := []string{
		fmt.Sprintf("seed=%d", seed),
		fmt.Sprintf("transports.mp.slots=%d", c.Slots),
		fmt.Sprintf("transports.mp.delta=%d", delta),
	}
	if c.Waits {
		set = append(set, "transports.mp.windowed-span=true", fmt.Sprintf("transports.mp.early-retransmit=%v", never))
	}
	threshold := c.Threshold
	if threshold == 0 && c.Condition == Misconfigured {
		threshold = MisconfiguredThreshold
	}
	if threshold > 0 {
		var links []string
		for _, link := range []string{"tor0-path4", "path4-tor1"} {
			links = append(links, fmt.Sprintf("%s: {ecn: {kmin: %d, kmax: %d, pmax: 1}, direction: forth}", link, threshold, threshold))
		}
		set = append(set, "fabric.links={"+strings.Join(links, ", ")+"}")
	}
	if c.Condition == Degraded {
		// One cable has negotiated a lower rate, in both directions.
		set = append(set, fmt.Sprintf("faults=[{at: 0s, link: tor0-path4, rate: %d}]", int64(degradedRate)))
	}
	return set
}
