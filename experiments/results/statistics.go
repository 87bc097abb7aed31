package results

import (
	"slices"

	"github.com/braid-rdma/braid/internal/statistics"
)

// Statistics describes some numbers. All fields are 0 where there were none.
type Statistics struct {
	Count int     `json:"count"`
	Mean  float64 `json:"mean"`
	Min   float64 `json:"min"`
	P50   float64 `json:"p50"`
	P99   float64 `json:"p99"`
	P999  float64 `json:"p999"`
	Max   float64 `json:"max"`
}

// statisticsOf sorts the values and describes them.
func statisticsOf(values []float64) Statistics {
	if len(values) == 0 {
		return Statistics{}
	}
	slices.Sort(values)
	return Statistics{
		Count: len(values), Mean: statistics.Mean(values),
		Min: values[0], P50: statistics.Quantile(values, 0.5), P99: statistics.Quantile(values, 0.99), P999: statistics.Quantile(values, 0.999),
		Max: values[len(values)-1],
	}
}
