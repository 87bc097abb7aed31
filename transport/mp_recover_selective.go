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
	lost    int  // packets judged lost and not yet sent again
	lowest  seq  // no lost packet lies before it
	newest  Time // when the most recently sent of the arrived packets was sent
	swept   Time // when all paths were last looked at
	asking  bool // snd_una is to be sent again though it has arrived, for the receiver to speak
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
		r.giveUp(now, s, rec)
	}
	if again && rec.lost {
		r.lost--
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
func (r *selective) giveUp(now Time, s seq, rec *record) {
	r.judgeLost(s, rec)
	path := &r.mp.paths[rec.path]
	if path.unheard < reorderTolerance {
		return
	}
	if r.newest > rec.sentAt {
		r.mp.pathLost(now, rec.path, true)
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
		r.lost--
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
	if r.lost == 0 {
		return r.mp.out.una, r.asking
	}
	// In the order of the stream: only its head lets the receiver go on.
	for r.lowest = max(r.lowest, r.mp.out.una); !r.at(r.lowest).lost; {
		r.lowest++
	}
	return r.lowest, true
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
				r.judgeLost(x, rec)
			}
		}
	}
}

func (r *selective) rewind(s seq) { r.refused(s, r.mp.out.nxt) }

func (r *selective) refused(from, to seq) {
	for s := max(from, r.mp.out.una); s < min(to, r.mp.out.nxt); s++ {
		if rec := r.at(s); !rec.acked && !rec.lost {
			r.judgeLost(s, rec)
		}
	}
}

func (r *selective) timedOut() {
	r.rewind(r.mp.out.una)
	r.asking = r.lost == 0 && r.mp.out.una < r.mp.out.nxt
}

// judgeLost takes a transmission out of flight.
func (r *selective) judgeLost(s seq, rec *record) {
	rec.lost = true
	if r.lost++; r.lost == 1 || s < r.lowest {
		r.lowest = s
	}
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
			r.judgeLost(e.at, rec)
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
