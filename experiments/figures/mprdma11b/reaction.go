package mprdma11b

import (
	"math"

	"github.com/braid-rdma/braid/experiments/figures/testbed"
	"github.com/braid-rdma/braid/sim"
)

// full is the part of a path's rate from which on it counts as fully used.
const full = 0.9

// restoration is how long after its restoration a path was fully used for the
// first time, in seconds; NaN: never.
func restoration(samples []testbed.Sample, path int, restored sim.Time) float64 {
	for _, s := range samples {
		if s.At > restored && s.Paths[path] >= full*pathRate {
			return (s.At - restored).Seconds()
		}
	}
	return math.NaN()
}

// settling is how long after a cut the paths that remain carried what they
// carry on average until the next event, in seconds; NaN: never.
func settling(samples []testbed.Sample, p phase) float64 {
	usual := utilisation(samples, p) * float64(p.alive) * pathRate
	for _, s := range samples {
		if s.At > p.from && s.At <= p.to && testbed.Sum(s.Paths) >= full*usual {
			return (s.At - p.from).Seconds()
		}
	}
	return math.NaN()
}

// utilisation is how much of the rate of all living paths is used in the second
// half of a phase, when the connection has settled.
func utilisation(samples []testbed.Sample, p phase) float64 {
	var rates []float64
	for _, s := range samples {
		if s.At > (p.from+p.to)/2 && s.At <= p.to {
			rates = append(rates, testbed.Sum(s.Paths))
		}
	}
	return testbed.Mean(rates) / (float64(p.alive) * pathRate)
}
