package transport

// record is what the sender remembers about one packet between snd_una and snd_nxt.
type record struct {
	sentAt Time
	order  uint32 // the ordinal of this transmission among those of its path
	path   Path
	acked  bool
	lost   bool // taken for lost and not yet sent again
	again  bool // sent more than once
}

// selective finds losses packet by packet. A path delivers in the order of
// sending, so a packet is lost when later packets of its own path arrive; when
// its path is silent, it is lost when packets sent much later on other paths
// arrive. Paths carry packets of both streams.
type selective struct {
	streams   [numStreams]sendRecords
	paths     []pathFlight // nil before the first packet
	found     []verdict
	pathCount int
	flying    int
	newest    Time // when the most recently sent of the arrived packets was sent
	swept     Time // when all paths were last looked at
}

// sendRecords are the records of one stream.
type sendRecords struct {
	una, nxt seq
	records  []record // ring, by sequence number
	lost     int      // packets taken for lost and not yet sent again
	lowest   seq      // no lost packet lies before it
	asking   bool     // snd_una is to be sent again though it has arrived, for the receiver to acknowledge it
}

// pathFlight is what a path carries.
type pathFlight struct {
	sentOrder  uint32           // transmissions on this path so far
	ackedOrder uint32           // the latest of them known to have arrived
	flight     *fifo[pathEntry] // transmissions in order, with stale ones in between; nil before the first
	ackedAt    Time             // when an acknowledgement last named the path
	givenUp    uint16           // packets given up since an acknowledgement last named the path
}

// pathEntry names one transmission: it is stale once the packet's record has
// moved on.
type pathEntry struct {
	at     seq
	order  uint32
	stream streamID
}

// reorderTolerance is how many later packets of the same path must have been
// sent before one that arrived proves a loss (RFC 5681's three).
const reorderTolerance = 3

// minRecords is the size of a fresh ring: enough for request and response
// traffic, small enough for an idle connection.
const minRecords = 16

func newSelective(first [numStreams]seq, paths int) *selective {
	r := &selective{pathCount: paths}
	for id := range r.streams {
		r.streams[id].una, r.streams[id].nxt = first[id], first[id]
	}
	return r
}

func (r *sendRecords) at(s seq) *record { return &r.records[s&seq(len(r.records)-1)] }

// live says whether s lies between snd_una and snd_nxt.
func (r *sendRecords) live(s seq) bool { return s >= r.una && s < r.nxt }

// reserve makes the ring large enough for the packets una..s.
func (r *sendRecords) reserve(s seq) {
	need := int(s-r.una) + 1
	if need <= len(r.records) {
		return
	}
	size := max(minRecords, len(r.records))
	for size < need {
		size *= 2
	}
	grown := make([]record, size)
	for i := r.una; i < r.nxt && len(r.records) > 0; i++ {
		grown[i&seq(size-1)] = *r.at(i)
	}
	r.records = grown
}

func (r *selective) inFlight() int { return r.flying }

func (r *selective) report(f finding, s seq, p Path) { r.found = append(r.found, verdict{s, f, p}) }

func (r *selective) verdicts() []verdict {
	found := r.found
	r.found = r.found[:0]
	return found
}

func (r *selective) sent(id streamID, s seq, p Path, now Time, again bool) {
	st := &r.streams[id]
	st.reserve(s)
	rec := st.at(s)
	if again {
		st.asking = st.asking && s != st.una
		if !rec.lost && !rec.acked {
			r.giveUp(st, s, rec)
		}
		if rec.lost {
			st.lost--
		}
	} else {
		*rec = record{}
		st.nxt = s + 1
	}
	if r.paths == nil {
		r.paths = make([]pathFlight, r.pathCount)
	}
	path := &r.paths[p]
	path.sentOrder++
	rec.sentAt, rec.path, rec.order = now, p, path.sentOrder
	rec.lost, rec.acked, rec.again = false, false, again
	if path.flight == nil {
		path.flight = new(fifo[pathEntry])
	}
	*path.flight.push() = pathEntry{s, rec.order, id}
	r.flying++
}

// giveUp takes a transmission for lost because the packet is sent again on
// suspicion. If what other paths were given later has arrived, that counts
// against its path; and a path that has swallowed several in a row is dead:
// with little to send, no later arrival by the path itself would ever prove it.
func (r *selective) giveUp(st *sendRecords, s seq, rec *record) {
	r.judgeLost(st, s, rec)
	if r.newest > rec.sentAt {
		f := foundLosing
		if r.paths[rec.path].givenUp >= reorderTolerance {
			f = foundSilent
		}
		r.report(f, 0, rec.path)
	}
}

// judgeLost takes a transmission out of flight.
func (r *selective) judgeLost(st *sendRecords, s seq, rec *record) {
	rec.lost = true
	if st.lost++; st.lost == 1 || s < st.lowest {
		st.lowest = s
	}
	r.flying--
	path := &r.paths[rec.path]
	path.givenUp = min(path.givenUp+1, 1<<15)
	r.report(foundLost, s, rec.path)
}

func (r *selective) acked(id streamID, s seq, p Path, again bool) bool {
	st := &r.streams[id]
	if !st.live(s) {
		return false
	}
	rec := st.at(s)
	if rec.acked {
		return false
	}
	r.arrived(st, s, rec)
	// Only an acknowledgement of the latest transmission says something about its order.
	if rec.path == p && rec.again == again {
		r.evidence(rec)
	}
	return true
}

// arrived takes a packet out of flight, or out of the list of losses.
func (r *selective) arrived(st *sendRecords, s seq, rec *record) {
	if rec.lost {
		rec.lost = false
		st.lost--
		r.report(foundLate, s, rec.path)
	} else {
		r.flying--
		r.report(foundArrived, s, rec.path)
	}
	rec.acked = true
}

// evidence notes that a known transmission arrived.
func (r *selective) evidence(rec *record) {
	path := &r.paths[rec.path]
	if int32(rec.order-path.ackedOrder) > 0 {
		path.ackedOrder = rec.order
	}
	r.newest = max(r.newest, rec.sentAt)
	path.givenUp = 0
}

func (r *selective) advanced(id streamID, to seq) {
	st := &r.streams[id]
	st.asking = false
	for ; st.una < to; st.una++ {
		rec := st.at(st.una)
		if rec.acked {
			continue
		}
		r.arrived(st, st.una, rec)
		if !rec.again {
			r.evidence(rec)
		}
	}
}

func (r *selective) next(id streamID) (seq, bool) {
	st := &r.streams[id]
	if st.asking || st.lost == 0 {
		return st.una, st.asking
	}
	// In the order of the stream: only its head lets the receiver go on.
	for st.lowest = max(st.lowest, st.una); !st.at(st.lowest).lost; {
		st.lowest++
	}
	return st.lowest, true
}

// oldest: when all that is outstanding has arrived, only the receiver's word
// that it is complete was lost; any packet makes it repeat it.
func (r *selective) oldest(id streamID) (overdue, bool) {
	st := &r.streams[id]
	for s := st.una; s < st.nxt; s++ {
		if rec := st.at(s); !rec.acked && !rec.lost {
			return overdue{s, rec.sentAt, rec.path}, true
		}
	}
	if st.una < st.nxt && st.at(st.una).acked {
		rec := st.at(st.una)
		return overdue{st.una, rec.sentAt, rec.path}, true
	}
	return overdue{}, false
}

// nacked believes a NACK of what was sent before believedFrom. A packet sent
// later can not have provoked it: the NACK is a copy, or is for an earlier
// transmission, and to obey it would multiply packets.
func (r *selective) nacked(id streamID, n nackedPacket, believedFrom Time) {
	st := &r.streams[id]
	for _, s := range [...]seq{n.missing, n.refused} {
		if !st.live(s) {
			continue
		}
		if rec := st.at(s); !rec.acked && !rec.lost && rec.sentAt <= believedFrom {
			r.judgeLost(st, s, rec)
		}
	}
}

func (r *selective) refused(id streamID, from, to seq) {
	st := &r.streams[id]
	for s := max(from, st.una); s < min(to, st.nxt); s++ {
		if rec := st.at(s); !rec.acked && !rec.lost {
			r.judgeLost(st, s, rec)
		}
	}
}

func (r *selective) timedOut(id streamID) {
	st := &r.streams[id]
	r.refused(id, st.una, st.nxt)
	st.asking = st.una < st.nxt && st.at(st.una).acked
}

func (r *selective) forgive(p Path) {
	if r.paths != nil {
		r.paths[p].givenUp = 0
	}
}

// detect sweeps the oldest transmissions of the path that was named, and now
// and then of the others, whose silence may prove something.
func (r *selective) detect(now Time, named Path, silence Time) {
	if r.paths == nil {
		return
	}
	r.paths[named].ackedAt = now
	if now < r.swept+silence/8 {
		r.sweep(named, now, silence)
		return
	}
	r.swept = now
	for p := range r.paths {
		r.sweep(Path(p), now, silence)
	}
}

// patienceWithSlowPaths is how many times longer a path that acknowledgements name may take.
const patienceWithSlowPaths = 4

func (r *selective) sweep(p Path, now, silence Time) {
	path := &r.paths[p]
	if path.flight == nil {
		return
	}
	if now <= path.ackedAt+silence {
		// It is slower than the others, not silent: later arrivals by the path itself
		// tell what was lost. But everything waits for its packets meanwhile.
		silence *= patienceWithSlowPaths
	}
	found, silent := false, false
	for path.flight.len() > 0 {
		e := *path.flight.at(0)
		if rec := r.current(e, p); rec != nil {
			overtaken := int32(path.ackedOrder-e.order) >= reorderTolerance
			silent = !overtaken && rec.sentAt+silence < r.newest
			if !overtaken && !silent {
				break
			}
			r.judgeLost(&r.streams[e.stream], e.at, rec)
			found = true
		}
		path.flight.pop()
	}
	switch {
	case found && silent:
		r.report(foundSilent, 0, p)
	case found:
		r.report(foundLosing, 0, p)
	}
}

// current returns the packet's record if the entry still is its latest
// transmission and in flight, else nil.
func (r *selective) current(e pathEntry, p Path) *record {
	st := &r.streams[e.stream]
	if !st.live(e.at) {
		return nil
	}
	rec := st.at(e.at)
	if rec.path != p || rec.order != e.order || rec.acked || rec.lost {
		return nil
	}
	return rec
}
