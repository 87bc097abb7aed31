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
// early and saves nothing up while there is none: after an idle time packets follow each other
// at the rate and not in a burst. What an engine is late with is made good, up to a limit.
type pacer struct {
	next    Time // the instant from which the next packet may go
	catchUp Time // the most that is made good
	held    bool // a packet waits for next
	last    Time // when the last one left
	// fraction of a nanosecond by which next was rounded down. It goes into the
	// next gap, so that rounding does not change the rate.
	fraction float64
}

// longestGap is the gap after a packet at most: a rate of nothing, or one that
// is no number, must not end the connection.
const longestGap = float64(Second)

func (p *pacer) open(now Time) bool { return now >= p.next }

// hold notes that a packet waits until the pacer is open.
func (p *pacer) hold() { p.held = true }

// spend notes that a packet leaves.
func (p *pacer) spend(now Time, bytes int, rate float64) {
	// A packet that was held, or follows such a one, is late by the engine's doing. (One whose
	// clock is finer than a nanosecond may round it up; that alone is not late.)
	earliest := now
	if p.held || now == p.last {
		earliest -= p.catchUp
	}
	if earliest > p.next+1 {
		p.next, p.fraction = earliest, 0
	}
	p.held, p.last = false, now
	gap := float64(bytes)*8e9/rate + p.fraction
	if !(gap >= 0 && gap < longestGap) {
		gap = longestGap
	}
	whole := math.Floor(gap)
	p.next += Time(whole)
	p.fraction = gap - whole
}
