package mprdma19

import "github.com/braid-rdma/braid/sim"

// summary gathers the runs of each setting.
type summary struct {
	points []setting
	of     map[setting]*gathered // looked up by the order of points only

	hops, events uint64
	simulated    sim.Time
}

// gathered is the sum and the range of the runs of one setting.
type gathered struct {
	runs                 float64
	goodput, delay, naks float64 // sums
	low, high            float64 // of goodput
}

func newSummary(points []setting) *summary {
	s := &summary{points: points, of: make(map[setting]*gathered)}
	for _, p := range points {
		s.of[p] = &gathered{}
	}
	return s
}

func (s *summary) add(p setting, r result) {
	s.hops += r.hops
	s.events += r.events
	s.simulated += r.simulated
	g := s.of[p]
	if g.runs == 0 {
		g.low, g.high = r.goodput, r.goodput
	}
	g.runs++
	g.goodput += r.goodput
	g.delay += r.delay
	g.naks += r.naks
	g.low, g.high = min(g.low, r.goodput), max(g.high, r.goodput)
}

const giga = 1e9

// goodput is the mean over the runs, in Gb/s.
func (s *summary) goodput(p setting) float64 { return s.of[p].goodput / s.of[p].runs / giga }

// delay is the mean Δt in round trips.
func (s *summary) delay(p setting) float64 { return s.of[p].delay / s.of[p].runs }

// naksPerOperation is the mean of negative acknowledgements per synchronise
// operation. The receiver sends one when an operation comes too early.
func (s *summary) naksPerOperation(p setting) float64 { return s.of[p].naks / s.of[p].runs }

// baseline is DCQCN's goodput in Gb/s.
func (s *summary) baseline() float64 { return s.goodput(dcqcn) }

// gain is the goodput relative to DCQCN's.
func (s *summary) gain(p setting) float64 { return s.goodput(p) / s.baseline() }
