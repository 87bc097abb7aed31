package transport

// paperRecovery is MP-RDMA's loss recovery (§3.2, §3.5): inflate, snd_retx and
// recovery, and what keeps inflate true to its definition when packets are lost.
//
// Inflate less the acknowledgements still to come for packets before snd_una is
// the number of packets above snd_una that have arrived. A transmission that is
// lost has no acknowledgement to come, and one that is sent again has one too
// many. Which is which is known only when a recovery is over; then inflate is
// set anew from the packets that were sent since it began, each of them once, and
// whatever is still heard of earlier ones no longer counts.
type paperRecovery struct {
	out *outStream
	// inflate counts acknowledgements (§3.2, NewReno's estimate). It may be below
	// zero while acknowledgements of packets before snd_una are still on their way.
	inflate  int
	active   bool // recovery mode
	from     seq  // where this recovery began
	retx     seq  // snd_retx: the next packet to send again in recovery mode
	recovery seq  // snd_nxt when recovery mode began
	beyond   int  // acknowledgements during recovery mode of packets from recovery on
	settled  seq  // acknowledgements of packets before it no longer count
	lastSent Time
	highest  seq // beyond the highest packet acknowledged: only a higher one is surely news
}

// inflight is snd_nxt - snd_una - inflate, so that awnd = cwnd - inflight is the paper's formula.
func (r *paperRecovery) inflight() int {
	return max(0, r.outstanding()-r.inflate)
}

func (r *paperRecovery) outstanding() int { return int(r.out.nxt - r.out.una) }

// leftNetwork notes that n packets are no longer on their way. Never more can
// have left than were sent, whatever is duplicated on the way.
func (r *paperRecovery) leftNetwork(n int) {
	r.inflate = min(r.inflate+n, r.outstanding())
}

func (r *paperRecovery) sent(s seq, _ Path, now Time, again bool) {
	r.lastSent = now
	if !again {
		return
	}
	r.inflate-- // one more on its way that snd_nxt does not show
	if r.active && s == r.retx {
		r.retx++
	}
}

// sacked: §3.2, inflate increases by one for each received ACK.
func (r *paperRecovery) sacked(s seq, _ Path, _ bool) bool {
	if s >= r.settled {
		r.leftNetwork(1)
	}
	if r.active && s >= r.recovery {
		r.beyond++
	}
	news := s >= r.highest
	r.highest = max(r.highest, s+1)
	return news
}

// advanced: §3.2, once an ACK moves snd_una, inflate decreases by the step.
func (r *paperRecovery) advanced(from, to seq) {
	r.inflate -= int(to - from)
	r.retx = max(r.retx, to)
	// §3.5: if snd_una moves beyond recovery, the recovery mode ends.
	if r.active && to >= r.recovery {
		r.active = false
		r.settled = r.recovery
		r.inflate = min(r.beyond-int(to-r.recovery), int(r.out.nxt-to))
	}
	// Acknowledgements that were lost would keep the window closed for ever. They
	// are forgotten where nothing is outstanding.
	if to == r.out.nxt {
		r.settled, r.inflate = to, 0
	}
}

func (r *paperRecovery) next() (seq, bool) {
	if r.active && r.retx < r.recovery {
		return r.retx, true
	}
	return 0, false
}

func (r *paperRecovery) oldest() (seq, Time, bool) {
	return r.out.una, r.lastSent, r.out.una < r.out.nxt
}

// nacked enters recovery mode (§3.5). The refused packet has left the network.
// In recovery mode a NACK says something new if recovery began beyond the packet
// that is missing, or if that packet was lost once more: then the refused one
// was sent after it, either in this recovery or as new data behind its end.
// Without that, one lost retransmission would cost a timeout, and all that the
// sender adds until then is refused.
func (r *paperRecovery) nacked(_ Time, s, refused seq, again bool) {
	if s < r.out.una || s >= r.out.nxt {
		return
	}
	r.leftNetwork(1)
	lostAgain := refused >= r.recovery || again && refused < r.retx
	if !r.active || s < r.from || lostAgain {
		r.begin(s)
	}
}

func (r *paperRecovery) begin(s seq) {
	r.active, r.from, r.retx, r.recovery = true, s, s, r.out.nxt
	r.beyond = 0
}

func (r *paperRecovery) rewind(s seq) {
	s = max(s, r.out.una)
	if s >= r.out.nxt {
		return
	}
	r.leftNetwork(int(r.out.nxt - s))
	if r.active {
		s = min(s, r.retx)
	}
	r.begin(s)
}

func (r *paperRecovery) refused(from, _ seq) {
	r.leftNetwork(1)
	s := max(from, r.out.una)
	if r.active {
		s = min(s, r.retx)
	}
	r.begin(s)
}

// timedOut: §3.5, the sender starts to retransmit all unacknowledged packets.
func (r *paperRecovery) timedOut() {
	r.begin(r.out.una)
	r.inflate = r.outstanding()
}

func (r *paperRecovery) detect(Time, Path) int { return 0 }
