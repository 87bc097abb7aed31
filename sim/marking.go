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

	low, high int32
	slope     float64 // of the odds, per byte
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
	if m.Kmin < 0 || m.Kmax < m.Kmin || m.Kmax >= noMarking || !(m.Pmax >= 0 && m.Pmax <= 1) {
		return fmt.Errorf("%w: marking needs 0 <= Kmin <= Kmax and Pmax from 0 to 1, has %d, %d and %v", ErrConfig, m.Kmin, m.Kmax, m.Pmax)
	}
	m.low, m.high = int32(m.Kmin), int32(m.Kmax)
	if m.high > m.low {
		m.slope = m.Pmax / float64(m.high-m.low)
	}
	return nil
}

// hits decides whether to mark a packet that finds a queue of at least low bytes.
func (m *Marking) hits(queued int32, d *dice) bool {
	if queued >= m.high {
		return true
	}
	return d.happens(oddsOf(float64(queued-m.low) * m.slope))
}
