package transport

// disturb does to a live queue pair what its owner may do at any time: stop and
// resume sending, or exchange path policy and congestion control.
func (h *host) disturb(f *fault, begins bool) {
	if h.failed || h.qp.State() == Err {
		return
	}
	if f.drains {
		to := RTS
		if begins {
			to = SQD
		}
		if err := h.qp.Modify(h.w.now, to, nil); err != nil {
			h.fail("modify to %v: %v", to, err)
		}
		h.service()
		return
	}
	sc := h.w.sc
	policy, control := NewRoundRobin, NewFixedWindow
	if !begins {
		policy, control = NewAckClock, NewMPWindow
	}
	h.mp.SetPolicy(policy(sc.paths, &sc.mp, h.w.rng))
	h.mp.SetCongestionControl(control(&sc.mp))
	h.service()
}
