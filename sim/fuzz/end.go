package fuzz

import (
	"github.com/braid-rdma/braid/sim"
)

// The bound of liveness. A connection that lost everything tries again after its
// timeout, which doubles up to a second (MP) or stays (RC) while nothing arrives.
// From the last fault's end on it needs one of these, some more where what is
// sent again is lost in queues that are too full, and the time for the receiver to
// post what it owes.
const (
	longestTimeout  = sim.Second
	timeoutsGranted = 4
	perOperation    = 20 * sim.Millisecond
)

// deadline is when everything must have completed.
func (s *scenario) deadline() sim.Time {
	last := s.heals()
	for i := range s.talks {
		t := &s.talks[i]
		last = max(last, t.start)
		for _, e := range t.ends {
			for _, o := range e.ops {
				last += o.thinking
			}
		}
		last += 8 * sim.Time(t.qp.Conn.AckTimeout) * sim.Nanosecond
	}
	for i := range s.chats {
		c := &s.chats[i]
		last = max(last, c.start)
		for _, e := range c.ends {
			for _, o := range e.ops {
				last += o.thinking
			}
		}
	}
	return last + timeoutsGranted*longestTimeout + sim.Time(s.operations())*perOperation + s.channelTime()
}

// checkEnd checks what must hold when everything has completed: late packets do
// no harm, every byte is where it belongs, the books are balanced and closing
// gives everything back (P4).
func (w *world) checkEnd() {
	w.net.Run(max(w.net.Now(), w.sc.heals()) + quiet)
	w.drain()
	w.audit(w.net.Audit())
	for _, t := range w.talks {
		for _, e := range t.ends {
			e.checkMemory()
			e.checkBooks()
		}
	}
	for i := range w.hosts {
		if shared := w.hosts[i].receives; shared != nil {
			shared.checkMemory()
		}
	}
	for _, c := range w.chats {
		c.checkEnd()
	}
	w.checkLossless()
	w.closed = true
	for i := range w.hosts {
		if err := w.hosts[i].device.Close(); err != nil {
			w.fail("host %d does not close: %v", i, err)
		}
	}
	w.drain()
	if w.net.Run(w.net.Now() + forgotten) {
		w.fail("something is left to happen after everything was closed")
	}
	w.audit(w.net.AuditEnd())
}

func (w *world) audit(err error) {
	if err != nil {
		w.fail("%v", err)
	}
}

// checkLossless checks that switches with PFC drop nothing, nor slow receivers. A fault that changes
// the delay or rate of a link, copies packets, so that more arrive than its rate lets
// through, or loses PFC frames, is beyond what headroom was reckoned for.
func (w *world) checkLossless() {
	if !w.sc.config.Switch.PFC.On {
		return
	}
	for _, f := range w.sc.faults {
		if i := &f.impairment; i.Delay > 0 || i.Jitter > 0 || i.Rate > 0 || i.Duplicate > 0 || i.Pauses {
			return
		}
	}
	for _, l := range w.net.Links() {
		if l.Dropped > 0 {
			w.fail("lossless switch %s dropped %d packets for %s", l.From, l.Dropped, l.To)
		}
		if l.Overrun > 0 {
			w.fail("%d packets from %s exceeded the headroom of %s", l.Overrun, l.From, l.To)
		}
	}
}
