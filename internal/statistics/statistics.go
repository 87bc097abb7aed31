// Package statistics has the few numbers that describe samples, for all that measure.
//
// They are not gonum's because gonum adds with the vector instructions of some processors, in
// another order than on the rest, while the files of an experiment are the same on every machine.
package statistics

import "math"

// Sum adds the values in their order.
func Sum(values []float64) (total float64) {
	for _, v := range values {
		total += v
	}
	return total
}

// Mean is the mean of the values; NaN of none.
func Mean(values []float64) float64 { return Sum(values) / float64(len(values)) }

// Deviation is the standard deviation of the values around their mean.
func Deviation(values []float64) float64 {
	mean, squares := Mean(values), 0.0
	for _, v := range values {
		squares += float64((v - mean) * (v - mean)) // the conversion forbids to fuse product and sum
	}
	return math.Sqrt(squares / float64(len(values)))
}

// Quantile is the least of the sorted values that the given fraction of them does not exceed
// (nearest rank): a value that occurred, not one between two. There must be at least one.
func Quantile[T any](sorted []T, fraction float64) T {
	return sorted[max(0, rank(fraction, float64(len(sorted)))-1)]
}

// CountQuantile is the same of samples that are counted: counts[v] of them have the value v.
// It is 0 of none.
func CountQuantile(counts []uint64, fraction float64) int {
	total := uint64(0)
	for _, n := range counts {
		total += n
	}
	enough, below := uint64(rank(fraction, float64(total))), uint64(0)
	for v, n := range counts {
		if below += n; below >= enough {
			return v
		}
	}
	return 0
}

// rank is the place of a quantile in the order of the samples, from 1.
func rank(fraction, samples float64) int { return int(math.Ceil(fraction * samples)) }

// Jain is Jain's index of fairness: 1 where all have the same, 1/n where one has all.
func Jain(values []float64) float64 {
	squares := 0.0
	for _, v := range values {
		squares += float64(v * v) // not fused, as above
	}
	if squares == 0 {
		return 0
	}
	total := Sum(values)
	return total * total / (float64(len(values)) * squares)
}
