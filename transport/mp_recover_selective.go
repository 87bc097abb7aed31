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
	if again && !rec.lost {
		r.judgeLost(rec) // sent again on suspicion: the earlier transmission is given up
	}
	if !again {
		*rec = record{}
	}
	path := &r.mp.paths[p]
	path.sentOrder++
	rec.sentAt, rec.path, rec.order = now, p, path.sentOrder
	rec.lost, rec.again = false, again
	*path.flight.push() = pathEntry{s, rec.order}
	r.flying++
}

func (r *selective) sacked(s seq, p Path) bool {
	if !r.live(s) {
		return false
	}
	rec := r.at(s)
	if rec.acked {
		return false
	}
	r.arrived(rec)
	if rec.path == p {
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
}

func (r *selective) advanced(from, to seq) {
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
			if rec := r.at(s); rec.lost && !rec.acked {
				return s, true
			}
		}
		r.lost.pop()
	}
	return 0, false
}

func (r *selective) oldest() (seq, Time, bool) {
	for s := r.mp.out.una; s < r.mp.out.nxt; s++ {
		if rec := r.at(s); !rec.acked && !rec.lost {
			return s, rec.sentAt, true
		}
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

func (r *selective) timedOut(Time) { r.rewind(r.mp.out.una) }

// judgeLost takes a transmission out of flight.
func (r *selective) judgeLost(rec *record) {
	rec.lost = true
	r.flying--
	r.mp.paths[rec.path].Lost++
	r.mp.count.Lost++
}

// detect sweeps the oldest transmissions of each path and answers how many
// packets it judged lost.
func (r *selective) detect(now Time) int {
	found := 0
	silence := max(2*r.mp.rtt.smoothed(), r.mp.rtt.late(), minSilence)
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
