package transport

// rttEstimator smooths round-trip samples (RFC 6298; MP-RDMA's table 1 keeps
// srtt and rttvar).
type rttEstimator struct {
	srtt, rttvar Time
	initial      Time
	measured     bool
}

func (r *rttEstimator) sample(rtt Time) {
	rtt = max(rtt, 1)
	if !r.measured {
		r.srtt, r.rttvar, r.measured = rtt, rtt/2, true
		return
	}
	d := r.srtt - rtt
	if d < 0 {
		d = -d
	}
	r.rttvar += (d - r.rttvar) / 4
	r.srtt += (rtt - r.srtt) / 8
}

// smoothed is the current estimate, or the initial guess before any sample.
func (r *rttEstimator) smoothed() Time {
	if !r.measured {
		return r.initial
	}
	return max(r.srtt, 1)
}

// late is the time after which a packet without an acknowledgement is likely lost.
func (r *rttEstimator) late() Time {
	if !r.measured {
		return 4 * r.initial
	}
	return r.srtt + 4*r.rttvar
}

// timeout is the retransmission timeout before it is doubled, at least least. A
// program that asks for a shorter acknowledgement timeout, most, gets it, as long
// as packets can make the round trip; zero: it asks for none.
func (r *rttEstimator) timeout(least, most Time) Time {
	rto := max(r.late(), least)
	if most > 0 {
		rto = min(rto, max(most, r.late()))
	}
	return rto
}

// early is the age, some round trips, at which a tail without an acknowledgement is
// sent again (§3.5).
func (r *rttEstimator) early(roundTrips float64) Time {
	return max(Time(roundTrips*float64(r.smoothed())), r.late(), 1)
}
