package outoforder

import (
	"math"
	"slices"

	"github.com/braid-rdma/braid/sim"
)

// Measurement is what a case yielded in the measured time.
type Measurement struct {
	Degrees       []uint64 // accepted packets by out-of-order degree
	MTU           int      // bytes of payload of each packet
	Ideal         float64  // bits per second of payload that all paths together can carry
	Packets       uint64   // data packets sent
	Retransmitted uint64
	Timeouts      uint64

	Simulated sim.Time // measured, without the time to warm up; summed over seeds
	Total     sim.Time // with the time to warm up
	Hops      uint64
	Events    uint64
}

// since is what was added to an earlier reading.
func (m *Measurement) since(before *Measurement) *Measurement {
	d := &Measurement{Degrees: slices.Clone(m.Degrees), MTU: m.MTU}
	for degree, n := range before.Degrees {
		d.Degrees[degree] -= n
	}
	d.Packets = m.Packets - before.Packets
	d.Retransmitted = m.Retransmitted - before.Retransmitted
	d.Timeouts = m.Timeouts - before.Timeouts
	return d
}

// Pool puts the measurements of one case with several seeds together.
func Pool(runs []*Measurement) *Measurement {
	p := &Measurement{Ideal: runs[0].Ideal, MTU: runs[0].MTU}
	for _, r := range runs {
		if more := len(r.Degrees) - len(p.Degrees); more > 0 {
			p.Degrees = append(p.Degrees, make([]uint64, more)...)
		}
		for degree, n := range r.Degrees {
			p.Degrees[degree] += n
		}
		p.Packets += r.Packets
		p.Retransmitted += r.Retransmitted
		p.Timeouts += r.Timeouts
		p.Simulated += r.Simulated
		p.Total += r.Total
		p.Hops += r.Hops
		p.Events += r.Events
	}
	return p
}

// accepted is the number of packets that the receivers took, each once.
func (m *Measurement) accepted() (total uint64) {
	for _, n := range m.Degrees {
		total += n
	}
	return total
}

// Quantile is the degree that the given fraction of all accepted packets does not
// exceed. Packets that arrived in order count, with degree zero.
func (m *Measurement) Quantile(fraction float64) int {
	enough := uint64(math.Ceil(fraction * float64(m.accepted())))
	below := uint64(0)
	for degree, n := range m.Degrees {
		if below += n; below >= enough {
			return degree
		}
	}
	return 0
}

// Tail is the 99.9th percentile, which the paper shows.
func (m *Measurement) Tail() int { return m.Quantile(0.999) }

// Goodput is the payload rate of all connections together, in bits per second.
// It counts what the receivers accepted, not what was acknowledged in order: that
// comes in jumps whenever a packet of the slow path arrives.
func (m *Measurement) Goodput() float64 {
	return float64(m.accepted()) * float64(m.MTU) * 8 / m.Simulated.Seconds()
}

// Throughput is the goodput as a share of what the paths can carry.
func (m *Measurement) Throughput() float64 { return m.Goodput() / m.Ideal }

// Above lists, for the degrees at which it changes, which share of the packets
// has a higher degree: the tail of the distribution.
func (m *Measurement) Above() (degrees, shares []float64) {
	total := m.accepted()
	left := total
	for degree, n := range m.Degrees {
		if left -= n; n > 0 && left > 0 && degree > 0 {
			degrees = append(degrees, float64(degree))
			shares = append(shares, float64(left)/float64(total))
		}
	}
	return degrees, shares
}
