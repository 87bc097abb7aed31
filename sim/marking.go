package sim

import (
	"errors"
	"fmt"
)

// Marking is RED with ECN on the length of the queue that a packet joins: below
// Kmin bytes nothing is marked, from Kmax on everything, between them with a
// probability that rises to Pmax. Kmin equal to Kmax is DCTCP's marking. The zero
// value marks nothing.
type Marking struct {
	Kmin, Kmax int // bytes
	Pmax       float64
	// Departing marks a packet by the queue that it leaves behind instead, as the ns-3
	// code of DCQCN's authors and that of HPCC do: the mark tells of the queue now and
	// not of when the packet came. Joining is the default because DCTCP's paper and most
	// switches mark so, and because then a mark does not depend on what comes later.
	Departing bool
	// Per is the rate, in bits per second, that Kmin and Kmax are for: those of a link of
	// twice the rate are twice as much, as in HPCC's ns-3 code. 0: every link has the same.
	Per int64

	low, high int32
	slope     float64 // of the odds, per byte
}

// MarkingDCQCN is the marking of the sample that DCQCN's authors published with their
// ns-3 code: 40 and 1000 packets of 1030 bytes.
func MarkingDCQCN() Marking {
	return Marking{Kmin: 40 * 1030, Kmax: 1000 * 1030, Pmax: 1, Departing: true}
}

// MarkingHPCC is the marking of DCQCN in HPCC's ns-3 code.
func MarkingHPCC() Marking {
	return Marking{Kmin: 100_000, Kmax: 400_000, Pmax: 0.2, Departing: true, Per: 25_000_000_000}
}

// ErrConfig is wrapped by every refusal of a configuration.
var ErrConfig = errors.New("sim: configuration")

// noMarking is beyond every queue.
const noMarking = 1 << 30

func (m *Marking) prepare() error {
	if m.Kmin == 0 && m.Kmax == 0 {
		m.low = noMarking
		return nil
	}
	if m.Per < 0 || m.Kmin < 0 || m.Kmax < m.Kmin || m.Kmax >= noMarking || !(m.Pmax >= 0 && m.Pmax <= 1) {
		return fmt.Errorf("%w: marking needs 0 <= Kmin <= Kmax and Pmax from 0 to 1 per rate, has %d, %d and %v per %d", ErrConfig, m.Kmin, m.Kmax, m.Pmax, m.Per)
	}
	m.thresholds()
	return nil
}

// thresholds works out what each packet is compared with.
func (m *Marking) thresholds() {
	m.low, m.high = int32(m.Kmin), int32(m.Kmax)
	if m.high > m.low {
		m.slope = m.Pmax / float64(m.high-m.low)
	}
}

// at is the marking of a link with a rate.
func (m *Marking) at(rate int64) *Marking {
	if m.Per == 0 || m.low == noMarking {
		return m
	}
	scaled := *m
	scale := func(k int) int { return int(min(float64(k)*float64(rate)/float64(m.Per), noMarking-1)) }
	scaled.Kmin, scaled.Kmax = scale(m.Kmin), scale(m.Kmax)
	scaled.thresholds()
	return &scaled
}

// mark marks a packet of a queue if it is to be, and if its sender can make use of it.
func (e *egress) mark(q *queue, p *packet, d *dice) {
	if m := e.marking; q.bytes >= m.low && p.ect && m.hits(q.bytes, d) && !p.marked {
		p.marked = true
		e.marked++
	}
}

// hits decides whether to mark a packet that finds a queue of at least low bytes.
func (m *Marking) hits(queued int32, d *dice) bool {
	if queued >= m.high {
		return true
	}
	return d.happens(oddsOf(float64(queued-m.low) * m.slope))
}
