package experiment

import (
	"math"
	"slices"

	"github.com/braid-rdma/braid/experiments/table"
)

// Latencies are the completion times, in µs and in order, of the flows of a class that began and ended in the time that
// was measured: of short messages that are a flow each.
func (r *Reading) Latencies(class string) (us []float64) {
	for i := range r.Flows {
		if f := &r.Flows[i]; f.Class == class && f.Started >= r.From && f.Done() {
			us = append(us, f.Duration().Microseconds())
		}
	}
	slices.Sort(us)
	return us
}

// Quantile is the least of the sorted values that the given fraction of them does not exceed; table.NoNumber if there
// are none.
func Quantile(sorted []float64, fraction float64) float64 {
	if len(sorted) == 0 {
		return table.NoNumber()
	}
	return sorted[max(0, int(math.Ceil(fraction*float64(len(sorted))))-1)]
}

// Latency is a measure: a quantile of the latencies of a class, in µs.
func Latency(class string, fraction float64) func(*Reading) float64 {
	return func(r *Reading) float64 { return Quantile(r.Latencies(class), fraction) }
}
