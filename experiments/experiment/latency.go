package experiment

import (
	"slices"

	"github.com/braid-rdma/braid/experiments/table"
	"github.com/braid-rdma/braid/internal/statistics"
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

// Quantile is that of statistics; table.NoNumber if there are no values.
func Quantile(sorted []float64, fraction float64) float64 {
	if len(sorted) == 0 {
		return table.NoNumber()
	}
	return statistics.Quantile(sorted, fraction)
}

// Latency is a measure: a quantile of the latencies of a class, in µs.
func Latency(class string, fraction float64) func(*Reading) float64 {
	return func(r *Reading) float64 { return Quantile(r.Latencies(class), fraction) }
}
