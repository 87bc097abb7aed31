package experiment

import (
	"math"

	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/internal/statistics"
	"github.com/braid-rdma/braid/sim"
)

// Series is what a probe read.
type Series struct {
	Times  []sim.Time
	Values []float64
}

// Rates makes rates in Gb/s of a count of bytes, each over the time up to its instant.
func (s *Series) Rates() *Series {
	r := &Series{}
	for i := 1; i < len(s.Times); i++ {
		r.Times = append(r.Times, s.Times[i])
		r.Values = append(r.Values, (s.Values[i]-s.Values[i-1])*8/(s.Times[i]-s.Times[i-1]).Seconds()/gbps)
	}
	return r
}

// Between is what was read after one instant and not after another.
func (s *Series) Between(from, to sim.Time) (values []float64) {
	for i, at := range s.Times {
		if at > from && at <= to {
			values = append(values, s.Values[i])
		}
	}
	return values
}

// Sent is a probe's number: the bytes that a link has carried so far. There is no number where there is no link.
func Sent(run *scenario.Run, from, to string) func() float64 {
	number, ok := run.Net.LinkNumber(from, to)
	return func() float64 {
		if !ok {
			return math.NaN()
		}
		return float64(run.Net.Link(number).Bytes)
	}
}

// RunningMean is a probe's number: the mean of another over all readings so far. Of such a probe the last is enough.
func RunningMean(of func() float64) func() float64 {
	total, n := 0.0, 0.0
	return func() float64 {
		total, n = total+of(), n+1
		return total / n
	}
}

// MeanWindow is a probe's number: the mean of the flows' congestion windows, in packets.
func MeanWindow(run *scenario.Run) func() float64 {
	return func() (mean float64) {
		for _, f := range run.Flows {
			mean += f.State().Window / float64(len(run.Flows))
		}
		return mean
	}
}

// Counts is sums over flows; sim.FlowCounts says what they mean.
type Counts struct{ Packets, Retransmitted, Timeouts, Naks uint64 }

func countsOf(run *scenario.Run) (c Counts) {
	for _, f := range run.Flows {
		r := f.Result()
		c.Packets += r.Packets
		c.Retransmitted += r.Retransmitted
		c.Timeouts += r.Timeouts
		c.Naks += r.Naks
	}
	return c
}

func (c Counts) since(before Counts) Counts {
	return Counts{c.Packets - before.Packets, c.Retransmitted - before.Retransmitted, c.Timeouts - before.Timeouts, c.Naks - before.Naks}
}

// Degrees counts packets by their out-of-order degree, which is the index.
type Degrees []uint64

// degreesOf is the counts of all transports.
func degreesOf(run *scenario.Run) (d Degrees) {
	for _, of := range run.Degrees {
		d = d.Plus(of.Counts())
	}
	return d
}

// Plus is both together.
func (d Degrees) Plus(other Degrees) Degrees {
	both := make(Degrees, max(len(d), len(other)))
	copy(both, d)
	for degree, n := range other {
		both[degree] += n
	}
	return both
}

func (d Degrees) since(before Degrees) Degrees {
	for degree, n := range before {
		d[degree] -= n
	}
	return d
}

// Packets is how many there are.
func (d Degrees) Packets() (n uint64) {
	for _, of := range d {
		n += of
	}
	return n
}

// Quantile is the degree that the given fraction of the packets does not exceed.
func (d Degrees) Quantile(fraction float64) int {
	return statistics.CountQuantile(d, fraction)
}
