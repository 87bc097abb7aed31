package fluid

import "fmt"

// A Marking is a switch's RED curve, eq. (5). Thresholds are in packets.
type Marking struct {
	PMax float64 // probability at KMax, above 0 and at most 1
	KMin float64 // up to this queue nothing is marked
	KMax float64 // beyond this queue everything is marked
}

// DCTCPMarking marks everything beyond a queue of k packets and nothing below:
// the second scheme of §3.2.1 (Kmax = Kmin, Pmax = 1).
func DCTCPMarking(k float64) Marking {
	return Marking{PMax: 1, KMin: k, KMax: k}
}

// Probability is eq. (5): the ratio of packets marked at a queue of that length.
func (m Marking) Probability(queue float64) float64 {
	switch {
	case queue <= m.KMin:
		return 0
	case queue <= m.KMax:
		return m.PMax * (queue - m.KMin) / (m.KMax - m.KMin)
	default:
		return 1
	}
}

// queueFor inverts eq. (5). Where the curve jumps from PMax to 1, at KMax, every
// ratio of the jump belongs to that one queue: a queue that is now just above
// and now just below the threshold has any average between the two.
func (m Marking) queueFor(ratio float64) float64 {
	if ratio >= m.PMax {
		return m.KMax
	}
	return m.KMin + (m.KMax-m.KMin)*ratio/m.PMax
}

func (m Marking) check() error {
	switch {
	case !positive(m.PMax) || m.PMax > 1:
		return fmt.Errorf("PMax is %v, want more than 0 and at most 1", m.PMax)
	case !finite(m.KMin) || m.KMin < 0:
		return fmt.Errorf("KMin is %v packets, want 0 or more", m.KMin)
	case !finite(m.KMax) || m.KMax < m.KMin:
		return fmt.Errorf("KMax is %v packets, want KMin (%v) or more", m.KMax, m.KMin)
	}
	return nil
}
