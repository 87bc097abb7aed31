package transport

import "testing"

var timeRows = []faultRow{
	{"row25_stopped_peer", testStoppedPeer},
	{"row26_clock_jump", testClockJump},
	{"row27_scheduler_stall", testSchedulerStall},
}

// stalled is a mixed workload in which hosts stop for a while.
func stalled(pause Time, hosts ...int) *scenario {
	sc := bulk(60, 0)
	sc.ops[1] = 30
	sc.kinds, sc.maxSize = allKinds, 20000
	for _, h := range hosts {
		sc.faults = append(sc.faults, &fault{stall: true, host: h, from: 200 * Microsecond, until: 200*Microsecond + pause})
	}
	return sc
}

// testStoppedPeer: a peer that sleeps longer than the retries last ends in one
// clean error; without a timeout it is waited for.
func testStoppedPeer(t *testing.T) {
	for _, pause := range []Time{Second, 10 * Second, 60 * Second} {
		for _, patient := range []bool{true, false} {
			sc := stalled(pause, 1)
			if patient {
				sc.attr[0].Timeout, sc.attr[1].Timeout = 0, 0
			} else {
				sc.expected = []Status{RetryExcErr}
			}
			w := mustRun(t, sc, nil)
			if patient && w.hosts[0].failed {
				t.Error("a connection without a timeout gave up")
			}
			if !patient && pause >= 10*Second && !w.hosts[0].failed {
				t.Errorf("a pause of %v went unnoticed", pause)
			}
		}
	}
}

// testClockJump: after an hour of suspension both sides find all their timers
// due at once. That is one timeout, not a storm.
func testClockJump(t *testing.T) {
	for _, rc := range []bool{false, true} {
		sc := stalled(3600*Second, 0, 1)
		if rc {
			sc.asRC()
		}
		w := mustRun(t, sc, nil)
		for _, h := range w.hosts {
			c := h.qp.Counters()
			if c.LocalAckTimeoutErr > 2 || c.Retransmitted > 1024 {
				t.Errorf("rc %v: %d timeouts, %d of %d packets sent again", rc, c.LocalAckTimeoutErr, c.Retransmitted, c.PacketsSent)
			}
		}
	}
}

// testSchedulerStall: pauses of a busy host are no failure of a path.
func testSchedulerStall(t *testing.T) {
	for _, pause := range []Time{10 * Millisecond, 100 * Millisecond, 500 * Millisecond} {
		w := mustRun(t, stalled(pause, 1), nil)
		for _, h := range w.hosts {
			if c := h.qp.Counters(); c.PathsRetired > 1 {
				t.Errorf("a pause of %v retired %d paths", pause, c.PathsRetired)
			}
		}
	}
}
