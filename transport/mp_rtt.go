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
