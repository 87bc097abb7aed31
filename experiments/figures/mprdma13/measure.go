package mprdma13

import (
	"slices"

	"github.com/braid-rdma/braid/experiments/experiment"
	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/sim"
)

// A class is flows of some sizes (§5.1.2).
type class struct {
	key, name string
	has       func(bytes int64) bool
}

var (
	all     = class{"all", "all flows", func(int64) bool { return true }}
	large   = class{"large", "flows > 10 MB", func(bytes int64) bool { return bytes > 10_000_000 }}
	small   = class{"small", "flows < 100 KB", func(bytes int64) bool { return bytes < 100_000 }}
	classes = []class{all, large, small}
)

// The measures: payload delivered while flows arrived, as a share of what the servers' links carry; and of each class the
// mean completion time in µs and the mean of completion times to ideal ones.
const carried = "carried"

func (c class) mean() string     { return c.key + "_mean_us" }
func (c class) slowdown() string { return c.key + "_slowdown" }

const serverRate = 40e9 // bits per second

func measures() []experiment.Measure {
	list := []experiment.Measure{{Name: carried, Of: func(r *experiment.Reading) float64 { return r.Series[carried].Values[0] }}}
	for _, c := range classes {
		list = append(list,
			experiment.Measure{Name: c.key + "_flows", Of: func(r *experiment.Reading) float64 { return float64(len(c.times(r))) }},
			experiment.Measure{Name: c.mean(), Of: func(r *experiment.Reading) float64 { return experiment.Average(c.times(r)) }},
			experiment.Measure{Name: c.slowdown(), Of: c.slowdownOf},
			experiment.Measure{Name: c.key + "_p99_us", Of: func(r *experiment.Reading) float64 {
				return experiment.Quantile(slices.Sorted(slices.Values(c.times(r))), 0.99)
			}})
	}
	return append(list,
		experiment.Measure{Name: "retransmitted", Of: func(r *experiment.Reading) float64 { return float64(r.Counts.Retransmitted) }},
		experiment.Measure{Name: "pfc_pauses", Of: (*experiment.Reading).Pauses})
}

// times are the completion times of a class, in µs.
func (c class) times(r *experiment.Reading) (times []float64) {
	for i := range r.Flows {
		if f := &r.Flows[i]; c.has(f.Bytes) {
			times = append(times, f.Duration().Seconds()*1e6)
		}
	}
	return times
}

func (c class) slowdownOf(r *experiment.Reading) float64 {
	var slowdowns []float64
	for i := range r.Flows {
		if f := &r.Flows[i]; c.has(f.Bytes) {
			slowdowns = append(slowdowns, f.Duration().Seconds()/ideal(r.Scenario, f))
		}
	}
	return experiment.Average(slowdowns)
}

// ideal is the base round trip and the size over the rate of the servers' links, in seconds. It does not count headers, so
// that transports are compared with the same measure although their headers differ.
func ideal(s *scenario.Scenario, f *sim.FlowResult) float64 {
	const linkDelay = 2e-6 // seconds
	crossings := 8.0
	if groups := s.Graph().GroupOf; groups[f.Src] == groups[f.Dst] {
		crossings = 4
	}
	return crossings*linkDelay + float64(f.Bytes)*8/serverRate
}

// carriedShare is the payload that has arrived so far, as a share of what the links of all servers could have carried.
func carriedShare(run *scenario.Run) float64 {
	bytes := int64(0)
	for _, f := range run.Flows {
		bytes += f.Delivered()
	}
	return float64(bytes) * 8 / (float64(len(run.Net.Graph().Hosts)) * serverRate * run.Net.Now().Seconds())
}
