package transport

// paperRecovery is MP-RDMA's loss recovery (§3.2, §3.5) with its own state and
// no more: inflate, snd_retx and recovery.
type paperRecovery struct {
	out      *outStream
	inflate  int  // §3.2: ACKs received above snd_una, NewReno's estimate
	active   bool // recovery mode
	retx     seq  // snd_retx: the next packet to send again in recovery mode
	recovery seq  // snd_nxt when recovery mode began
	lastSent Time
}

// inflight is snd_nxt - snd_una - inflate, so that awnd = cwnd - inflight is the paper's formula.
func (r *paperRecovery) inflight() int {
	return max(0, int(r.out.nxt-r.out.una)-r.inflate)
}

func (r *paperRecovery) sent(s seq, _ Path, now Time, again bool) {
	r.lastSent = now
	if !again {
		return
	}
	// What is sent again had been taken out of the estimate when it was judged lost.
	r.inflate = max(0, r.inflate-1)
	if r.active && s == r.retx {
		r.retx++
	}
}

func (r *paperRecovery) sacked(s seq, _ Path) bool {
	if s >= r.out.nxt {
		return false
	}
	// §3.2: inflate increases by one for each received ACK. It can never exceed
	// what was sent, whatever is duplicated on the way.
	r.inflate = min(r.inflate+1, int(r.out.nxt-r.out.una))
	return true
}

// advanced: §3.2, once an ACK moves snd_una, inflate decreases by the step.
func (r *paperRecovery) advanced(from, to seq) {
	r.inflate = max(0, r.inflate-int(to-from))
	if !r.active {
		return
	}
	r.retx = max(r.retx, to)
	// §3.5: if snd_una moves beyond recovery, the recovery mode ends.
	if to >= r.recovery {
		r.active = false
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

// nacked enters recovery mode (§3.5); in recovery mode a NACK says nothing new.
func (r *paperRecovery) nacked(s, _ seq) {
	if r.active || s < r.out.una || s >= r.out.nxt {
		return
	}
	r.begin(s)
	r.inflate = min(r.inflate+1, int(r.out.nxt-r.out.una))
}

func (r *paperRecovery) begin(s seq) {
	r.active, r.retx, r.recovery = true, s, r.out.nxt
}

func (r *paperRecovery) rewind(s seq) {
	s = max(s, r.out.una)
	if s < r.out.nxt {
		r.begin(s)
		r.inflate = min(r.inflate+int(r.out.nxt-s), int(r.out.nxt-r.out.una))
	}
}

// timedOut: §3.5, the sender starts to retransmit all unacknowledged packets.
func (r *paperRecovery) timedOut(Time) {
	r.begin(r.out.una)
	r.inflate = int(r.out.nxt - r.out.una)
}

func (r *paperRecovery) detect(Time) int { return 0 }
