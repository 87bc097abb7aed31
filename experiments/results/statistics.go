package results

import (
	"math"
	"slices"
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
		Count: len(values), Mean: sum(values) / float64(len(values)),
		Min: values[0], P50: quantile(values, 0.5), P99: quantile(values, 0.99), P999: quantile(values, 0.999),
		Max: values[len(values)-1],
	}
}

// quantile is the least of the sorted values that the given fraction of them does
// not exceed (nearest rank): a value that occurred, not one between two.
func quantile(sorted []float64, fraction float64) float64 {
	rank := int(math.Ceil(fraction * float64(len(sorted))))
	return sorted[max(0, rank-1)]
}

func sum(values []float64) (total float64) {
	for _, v := range values {
		total += v
	}
	return total
}

// jain is Jain's index of fairness: 1 where all have the same, 1/n where one has
// all.
func jain(values []float64) float64 {
	squares := 0.0
	for _, v := range values {
		squares += float64(v * v) // the conversion forbids to fuse product and sum
	}
	if squares == 0 {
		return 0
	}
	total := sum(values)
	return total * total / (float64(len(values)) * squares)
}
