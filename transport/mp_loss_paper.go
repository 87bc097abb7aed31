package transport

// paperRecovery is MP-RDMA's loss recovery (§3.2, §3.5) for both streams. It
// keeps no record of packets and has no verdicts.
type paperRecovery struct{ streams [numStreams]paperStream }

func newPaperRecovery(first [numStreams]seq) *paperRecovery {
	r := &paperRecovery{}
	for id := range r.streams {
		r.streams[id].una, r.streams[id].nxt = first[id], first[id]
	}
	return r
}

func (r *paperRecovery) inFlight() int {
	return r.streams[requests].inFlight() + r.streams[responses].inFlight()
}

func (r *paperRecovery) sent(id streamID, s seq, _ Path, now Time, again bool) {
	r.streams[id].sent(s, now, again)
}

func (r *paperRecovery) acked(id streamID, s seq, _ Path, _ bool) bool {
	return r.streams[id].acked(s)
}
func (r *paperRecovery) advanced(id streamID, to seq)       { r.streams[id].advanced(to) }
func (r *paperRecovery) next(id streamID) (seq, bool)       { return r.streams[id].next() }
func (r *paperRecovery) oldest(id streamID) (overdue, bool) { return r.streams[id].oldest() }
func (r *paperRecovery) nacked(id streamID, n nackedPacket, _ Time) {
	r.streams[id].nacked(n)
}
func (r *paperRecovery) refused(id streamID, from, to seq) { r.streams[id].refused(from, to) }
func (r *paperRecovery) timedOut(id streamID)              { r.streams[id].timedOut() }
func (r *paperRecovery) detect(Time, Path, Time)           {}
func (r *paperRecovery) forgive(Path)                      {}
func (r *paperRecovery) verdicts() []verdict               { return nil }

// paperStream is inflate, snd_retx and recovery of one stream, and what keeps
// inflate true to its definition when packets are lost.
//
// Inflate less the acknowledgements still to come for packets before snd_una is
// the number of packets above snd_una that have arrived. A transmission that is
// lost has no acknowledgement to come, and one that is sent again has one too
// many. Which is which is known only when a recovery is over; then inflate is
// set anew from the packets that were sent since it began, each of them once, and
// whatever is still reported of earlier ones no longer counts.
type paperStream struct {
	una, nxt seq
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

// inFlight is snd_nxt - snd_una - inflate, so that awnd = cwnd - inFlight is the paper's formula.
func (r *paperStream) inFlight() int { return max(0, r.outstanding()-r.inflate) }

func (r *paperStream) outstanding() int { return int(r.nxt - r.una) }

// leftNetwork notes that n packets are no longer on their way. Never more can
// have left than were sent, whatever is duplicated on the way.
func (r *paperStream) leftNetwork(n int) {
	r.inflate = min(r.inflate+n, r.outstanding())
}

func (r *paperStream) sent(s seq, now Time, again bool) {
	r.lastSent = now
	if !again {
		r.nxt = s + 1
		return
	}
	r.inflate-- // one more on its way that snd_nxt does not show
	if r.active && s == r.retx {
		r.retx++
	}
}

// acked: §3.2, inflate increases by one for each received ACK.
func (r *paperStream) acked(s seq) bool {
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
func (r *paperStream) advanced(to seq) {
	r.inflate -= int(to - r.una)
	r.una = to
	r.retx = max(r.retx, to)
	// §3.5: if snd_una moves beyond recovery, the recovery mode ends.
	if r.active && to >= r.recovery {
		r.active = false
		r.settled = r.recovery
		r.inflate = min(r.beyond-int(to-r.recovery), int(r.nxt-to))
	}
	// Acknowledgements that were lost would keep the window closed for ever. They
	// are forgotten where nothing is outstanding.
	if to == r.nxt {
		r.settled, r.inflate = to, 0
	}
}

func (r *paperStream) next() (seq, bool) {
	if r.active && r.retx < r.recovery {
		return r.retx, true
	}
	return 0, false
}

func (r *paperStream) oldest() (overdue, bool) {
	return overdue{r.una, r.lastSent, noPath}, r.una < r.nxt
}

// nacked enters recovery mode (§3.5). The refused packet has left the network.
// In recovery mode a NACK says something new if recovery began beyond the packet
// that is missing, or if that packet was lost once more: then the refused one
// was sent after it, either in this recovery or as new data behind its end.
// Without that, one lost retransmission would cost a timeout, and all that the
// sender adds until then is refused.
func (r *paperStream) nacked(n nackedPacket) {
	if n.missing < r.una || n.missing >= r.nxt {
		return
	}
	r.leftNetwork(1)
	lostAgain := n.refused >= r.recovery || n.again && n.refused < r.retx
	if !r.active || n.missing < r.from || lostAgain {
		r.begin(n.missing)
	}
}

func (r *paperStream) begin(s seq) {
	r.active, r.from, r.retx, r.recovery = true, s, s, r.nxt
	r.beyond = 0
}

// refused goes back to the first packet refused. Where all that is outstanding
// was, it has all left the network; of a single operation one packet has.
func (r *paperStream) refused(from, to seq) {
	from = max(from, r.una)
	if from >= r.nxt {
		return
	}
	left := 1
	if to >= r.nxt && from == r.una {
		left = r.outstanding()
	}
	r.leftNetwork(left)
	if r.active {
		from = min(from, r.retx)
	}
	r.begin(from)
}

// timedOut: §3.5, the sender starts to retransmit all unacknowledged packets.
func (r *paperStream) timedOut() {
	r.begin(r.una)
	r.inflate = r.outstanding()
}
