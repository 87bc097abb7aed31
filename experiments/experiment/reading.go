package experiment

import (
	"fmt"
	"slices"

	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/internal/statistics"
	"github.com/braid-rdma/braid/sim"
)

// gbps is the unit of rates.
const gbps = 1e9

// Reading is what one run was like.
type Reading struct {
	Case     string
	Seed     uint64
	Scenario *scenario.Scenario
	// From and To are the time that was measured.
	From, To sim.Time
	// Goodputs are those of the flows in that time, in Gb/s: payload that arrived in order of messages and is acknowledged.
	Goodputs []float64
	// Flows is what became of the flows, from the beginning to To.
	Flows []sim.FlowResult
	// Links is what each direction of each link carried from From to To; queues are as at To.
	Links []sim.LinkResult
	// Counts is what the queue pairs of all flows counted from From to To.
	Counts Counts
	// Degrees is the packets that arrived from From to To by their out-of-order degree, if the scenario counts them.
	Degrees Degrees
	// Series is what the probes read, by their names.
	Series map[string]*Series
	// Bins is the goodput of all flows over time, in Gb/s, from the beginning on, if the case asks for it.
	Bins []Bin
	// Deadlock is the circle of a PFC deadlock at To, nil if there is none.
	Deadlock []string
	Storms   []sim.Storm

	values []float64 // by Measure
}

// Bin is an interval of virtual time.
type Bin struct {
	End     sim.Time
	Goodput float64 // Gb/s
	Flows   []float64
	Pauses  uint64 // PFC frames that stop, received in all links
}

// Goodput is that of all flows in Gb/s.
func (r *Reading) Goodput() float64 { return statistics.Sum(r.Goodputs) }

// Pauses is how many PFC frames that stop were received.
func (r *Reading) Pauses() (n float64) {
	for i := range r.Links {
		n += float64(r.Links[i].Pauses)
	}
	return n
}

// Dropped is how many packets found no room in a buffer.
func (r *Reading) Dropped() (n float64) {
	for i := range r.Links {
		n += float64(r.Links[i].Dropped)
	}
	return n
}

// Link finds a direction of a link by the nodes that it leads from and to; nil if there is none.
func (r *Reading) Link(from, to string) *sim.LinkResult {
	i := slices.IndexFunc(r.Links, func(l sim.LinkResult) bool { return l.From == from && l.To == to })
	if i < 0 {
		return nil
	}
	return &r.Links[i]
}

// since takes what links had carried before from what they have carried now.
func since(now, before []sim.LinkResult) []sim.LinkResult {
	for i := range now {
		n, b := &now[i], &before[i]
		n.Packets -= b.Packets
		n.Bytes -= b.Bytes
		n.Marked -= b.Marked
		n.Dropped -= b.Dropped
		n.Lost -= b.Lost
		n.Damaged -= b.Damaged
		n.Doubled -= b.Doubled
		n.Pauses -= b.Pauses
		n.Paused -= b.Paused
		n.Expired -= b.Expired
		n.PausesLost -= b.PausesLost
		n.Overrun -= b.Overrun
	}
	return now
}

// acked is what each flow has had acknowledged.
func acked(run *scenario.Run) []int64 {
	bytes := make([]int64, len(run.Flows))
	for i, f := range run.Flows {
		bytes[i] = f.Acked()
	}
	return bytes
}

// rates are the rates of flows between two readings, in Gb/s.
func rates(before, after []int64, in sim.Time) []float64 {
	r := make([]float64, len(after))
	for i := range after {
		r[i] = float64(after[i]-before[i]) * 8 / in.Seconds() / gbps
	}
	return r
}

// failure is the error of the first flow that has one.
func (r *Reading) failure() error {
	for i := range r.Flows {
		if err := r.Flows[i].Err; err != nil {
			return fmt.Errorf("flow %d: %w", i, err)
		}
	}
	return nil
}
