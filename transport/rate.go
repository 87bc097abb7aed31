package transport

import "math"

// RateControl owns the sending rate of an RC queue pair: the third seam for
// research, beside path policy and congestion window.
//
// It has no timer. What changes with time is worked out when the rate is asked
// for, which is when a packet is sent; so a connection that is silent costs an
// engine nothing, however short the periods of its control are.
type RateControl interface {
	// OnCNP is called when a congestion notice came from the peer.
	OnCNP(now Time)
	// OnSent is called for each packet that was sent, with all its headers.
	OnSent(now Time, bytes int)
	// Rate returns the sending rate at this instant, in bits per second.
	Rate(now Time) float64
}

// pacer spaces packets so that they leave at a rate. It lets no packet go
// early and saves nothing up: after an idle time, as after a delay by the
// engine, packets follow each other at the rate and not in a burst.
type pacer struct {
	next Time // the instant from which the next packet may go
	// fraction of a nanosecond by which next was rounded down. It goes into the
	// next gap, so that rounding does not change the rate.
	fraction float64
}

// longestGap is the gap after a packet at most: a rate of nothing, or one that
// is no number, must not end the connection.
const longestGap = float64(Second)

func (p *pacer) open(now Time) bool { return now >= p.next }

// spend notes that a packet leaves.
func (p *pacer) spend(now Time, bytes int, rate float64) {
	// An engine whose clock is finer than a nanosecond may round it up; that
	// alone is not late.
	if now > p.next+1 {
		p.next, p.fraction = now, 0
	}
	gap := float64(bytes)*8e9/rate + p.fraction
	if !(gap >= 0 && gap < longestGap) {
		gap = longestGap
	}
	whole := math.Floor(gap)
	p.next += Time(whole)
	p.fraction = gap - whole
}
