package transport

// record is what the sender remembers about one packet between snd_una and snd_nxt.
type record struct {
	sentAt Time
	order  uint32 // the how-manieth transmission of its path
	path   Path
	acked  bool
	lost   bool // judged lost and not yet sent again
	again  bool // sent more than once
}

// selective finds losses packet by packet. A path delivers in the order of
// sending, so a packet is lost when later packets of its own path arrive; when
// its path is silent, it is lost when packets sent much later on other paths
// arrive.
type selective struct {
	mp      *MP
	records []record // ring, by sequence number
	flying  int
	lost    fifo[seq] // judged lost, with stale entries in between
	newest  Time      // when the most recently sent of the arrived packets was sent
	swept   Time      // when all paths were last looked at
	asking  bool      // snd_una is to be sent again though it has arrived, for the receiver to speak
}

// reorderTolerance is how many later packets of the same path must have been
// sent before one that arrived proves a loss (RFC 5681's three).
const reorderTolerance = 3

// minRecords is the size of a fresh ring: enough for request and response
// traffic, small enough for an idle connection.
const minRecords = 16

func (r *selective) at(s seq) *record { return &r.records[s&seq(len(r.records)-1)] }

// live says whether s lies between snd_una and snd_nxt.
func (r *selective) live(s seq) bool { return s >= r.mp.out.una && s < r.mp.out.nxt }

// reserve makes the ring large enough for the packets una..s.
func (r *selective) reserve(s seq) {
	need := int(s-r.mp.out.una) + 1
	if need <= len(r.records) {
		return
	}
	size := max(minRecords, len(r.records))
	for size < need {
		size *= 2
	}
	grown := make([]record, size)
	for i := r.mp.out.una; i < r.mp.out.nxt && len(r.records) > 0; i++ {
		grown[i&seq(size-1)] = *r.at(i)
	}
	r.records = grown
}

func (r *selective) inflight() int { return r.flying }

func (r *selective) sent(s seq, p Path, now Time, again bool) {
	r.reserve(s)
	rec := r.at(s)
	r.asking = r.asking && s != r.mp.out.una
	if again && !rec.lost && !rec.acked {
		r.giveUp(now, rec)
	}
	if !again {
		*rec = record{}
	}
	path := &r.mp.paths[p]
	path.sentOrder++
	rec.sentAt, rec.path, rec.order = now, p, path.sentOrder
	rec.lost, rec.acked, rec.again = false, false, again
	*path.flight.push() = pathEntry{s, rec.order}
	r.flying++
}

// giveUp takes a transmission for lost because the packet is sent again on
// suspicion. A path that has swallowed several in a row while others delivered
// is dead; with little to send, no later arrival would ever prove it.
func (r *selective) giveUp(now Time, rec *record) {
	r.judgeLost(rec)
	path := &r.mp.paths[rec.path]
	if path.unheard < reorderTolerance {
		return
	}
	for i := range r.mp.paths {
		if r.mp.paths[i].lastHeard > rec.sentAt && Path(i) != rec.path {
			r.mp.pathLost(now, rec.path, true)
			return
		}
	}
}

func (r *selective) sacked(s seq, p Path, again bool) bool {
	if !r.live(s) {
		return false
	}
	rec := r.at(s)
	if rec.acked {
		return false
	}
	r.arrived(rec)
	// Only an answer to the latest transmission says something about its order.
	if rec.path == p && rec.again == again {
		r.evidence(rec)
	}
	return true
}

// arrived takes a packet out of flight, or out of the list of losses.
func (r *selective) arrived(rec *record) {
	path := &r.mp.paths[rec.path]
	if rec.lost {
		// It was not lost after all.
		rec.lost = false
		path.Lost--
		r.mp.count.Lost--
	} else {
		r.flying--
	}
	rec.acked = true
	path.Acknowledged++
	r.mp.count.Acknowledged++
}

// evidence notes that a known transmission arrived.
func (r *selective) evidence(rec *record) {
	path := &r.mp.paths[rec.path]
	if int32(rec.order-path.ackedOrder) > 0 {
		path.ackedOrder = rec.order
	}
	r.newest = max(r.newest, rec.sentAt)
	path.unheard = 0
	path.lastHeard = max(path.lastHeard, rec.sentAt)
}

func (r *selective) advanced(from, to seq) {
	r.asking = false
	for s := from; s < to; s++ {
		rec := r.at(s)
		if rec.acked {
			continue
		}
		r.arrived(rec)
		if !rec.again {
			r.evidence(rec)
		}
	}
}

func (r *selective) next() (seq, bool) {
	for r.lost.len() > 0 {
		s := *r.lost.at(0)
		if r.live(s) {
			if rec := r.at(s); rec.lost && !rec.acked || r.asking && s == r.mp.out.una {
				return s, true
			}
		}
		r.lost.pop()
	}
	return 0, false
}

// oldest: when all that is outstanding has arrived, only the word of the
// receiver that it is complete was lost; any packet makes it speak again.
func (r *selective) oldest() (seq, Time, bool) {
	una := r.mp.out.una
	for s := una; s < r.mp.out.nxt; s++ {
		if rec := r.at(s); !rec.acked && !rec.lost {
			return s, rec.sentAt, true
		}
	}
	if una < r.mp.out.nxt && r.at(una).acked {
		return una, r.at(una).sentAt, true
	}
	return 0, 0, false
}

func (r *selective) nacked(s, beyond seq) {
	for _, x := range [...]seq{s, beyond} {
		if r.live(x) {
			if rec := r.at(x); !rec.acked && !rec.lost {
				r.judgeLost(rec)
				*r.lost.push() = x
			}
		}
	}
}

func (r *selective) rewind(s seq) {
	for s = max(s, r.mp.out.una); s < r.mp.out.nxt; s++ {
		if rec := r.at(s); !rec.acked && !rec.lost {
			r.judgeLost(rec)
			*r.lost.push() = s
		}
	}
}

func (r *selective) timedOut() {
	r.rewind(r.mp.out.una)
	if una := r.mp.out.una; r.lost.len() == 0 && una < r.mp.out.nxt {
		r.asking = true
		*r.lost.push() = una
	}
}

// judgeLost takes a transmission out of flight.
func (r *selective) judgeLost(rec *record) {
	rec.lost = true
	r.flying--
	path := &r.mp.paths[rec.path]
	path.Lost++
	path.unheard++
	r.mp.count.Lost++
}

// detect sweeps the oldest transmissions of the path that was heard of, and now
// and then of the others, whose silence may speak. It answers how many packets
// it judged lost.
func (r *selective) detect(now Time, heard Path) int {
	silence := max(2*r.mp.rtt.smoothed(), r.mp.rtt.late(), minSilence)
	if now < r.swept+silence/8 {
		return r.sweep(heard, now, silence)
	}
	r.swept = now
	found := 0
	for p := range r.mp.paths {
		found += r.sweep(Path(p), now, silence)
	}
	return found
}

// minSilence keeps the scheduling noise of hosts from looking like a dead path.
const minSilence = Millisecond

func (r *selective) sweep(p Path, now Time, silence Time) int {
	path := &r.mp.paths[p]
	found, silent := 0, false
	for path.flight.len() > 0 {
		e := *path.flight.at(0)
		if r.current(e, p) {
			rec := r.at(e.at)
			overtaken := int32(path.ackedOrder-e.order) >= reorderTolerance
			silent = !overtaken && rec.sentAt+silence < r.newest
			if !overtaken && !silent {
				break
			}
			r.judgeLost(rec)
			*r.lost.push() = e.at
			found++
		}
		path.flight.pop()
	}
	if found > 0 {
		r.mp.pathLost(now, p, silent)
	}
	return found
}

// current says whether the entry still is the packet's latest transmission and in flight.
func (r *selective) current(e pathEntry, p Path) bool {
	if !r.live(e.at) {
		return false
	}
	rec := r.at(e.at)
	return rec.path == p && rec.order == e.order && !rec.acked && !rec.lost
}
