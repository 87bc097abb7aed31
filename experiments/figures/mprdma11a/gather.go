package mprdma11a

import (
	"slices"

	"github.com/braid-rdma/braid/experiments/figures/testbed"
)

// means holds the average goodput of each point, in Gb/s.
type means map[point]float64

// gather averages over seeds.
func gather(cases []testCase, goodputs []float64) means {
	runs := map[point][]float64{}
	for i, c := range cases {
		runs[c.point] = append(runs[c.point], goodputs[i])
	}
	m := means{}
	for p, rates := range runs {
		m[p] = testbed.Mean(rates)
	}
	return m
}

// of is the goodput of a transport at a loss.
func (m means) of(transport string, loss float64) float64 {
	return m[point{transport, loss, defaultAckTimeout}]
}

// lossyShare is how many of the paths lose.
const lossyShare = 0.75

// average is what the paper plots of DCQCN: "75% probability to transmit data on
// lossy paths" (§5.1.1).
func (m means) average(loss float64, ackTimeout int) float64 {
	good := m.of(dcqcn, 0)
	if loss == 0 {
		return good
	}
	return (1-lossyShare)*good + lossyShare*m[point{dcqcn, loss, ackTimeout}]
}

// losses are the loss rates that were measured, ascending.
func (m means) losses() []float64 {
	var rates []float64
	for p := range m {
		if p.transport == paper {
			rates = append(rates, p.loss)
		}
	}
	slices.Sort(rates)
	return rates
}

// ackTimeouts are the codes for which DCQCN was measured, ascending.
func (m means) ackTimeouts() []int {
	var codes []int
	for p := range m {
		if p.transport == dcqcn && p.loss == paperLoss {
			codes = append(codes, p.ackTimeout)
		}
	}
	slices.Sort(codes)
	return codes
}
