package mprdma16

import (
	"errors"

	"github.com/braid-rdma/braid/experiments/figures/testbed"
	"github.com/braid-rdma/braid/sim"
)

var errUnfinished = errors.New("the run is too short")

// settled is the part of a plateau after which it is measured; before, the
// connections converge.
const settled = 0.2

// goodputs are those of the active connections in a part of a plateau, in Gb/s.
// Bins that reach beyond it do not count.
func (h *history) goodputs(p plateau, from, to sim.Time) []float64 {
	sums := make([]float64, len(p.active))
	count := 0
	for _, s := range h.samples {
		if s.At-h.bin < max(from, p.from) || s.At > min(to, p.to) {
			continue
		}
		count++
		for i, connection := range p.active {
			sums[i] += s.Flows[connection]
		}
	}
	for i := range sums {
		sums[i] /= float64(max(1, count))
	}
	return sums
}

// fairness is Jain's index over the settled part of a plateau.
func (h *history) fairness(p plateau) float64 {
	length := float64(p.to - p.from)
	return jain(h.goodputs(p, p.from+sim.Time(settled*length), p.to))
}

// fairnessWithin is the average of Jain's index over windows of a length, in the
// settled part of a plateau; ok says whether the plateau holds one.
func (h *history) fairnessWithin(p plateau, window sim.Time) (index float64, ok bool) {
	var all []float64
	start := p.from + sim.Time(settled*float64(p.to-p.from))
	start += h.bin - start%h.bin
	for at := start; at+window <= p.to; at += window {
		all = append(all, jain(h.goodputs(p, at, at+window)))
	}
	return testbed.Mean(all), len(all) > 0
}

// jain is Jain's fairness index: 1 if all rates are equal, 1/n if one has all.
func jain(rates []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, r := range rates {
		sum += r
		squares += r * r
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / (float64(len(rates)) * squares)
}
