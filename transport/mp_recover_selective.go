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
	path := r.mp.paths.record(p)
	path.sentOrder++
	rec.sentAt, rec.path, rec.order = now, p, path.sentOrder
	rec.lost, rec.acked, rec.again = false, false, again
	if path.flight == nil {
		path.flight = new(fifo[pathEntry])
	}
	*path.flight.push() = pathEntry{s, rec.order}
	r.flying++
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
	path := r.mp.paths.record(rec.path)
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
	path := r.mp.paths.record(rec.path)
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
	if r.asking || r.lost == 0 {
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

// nacked believes a NACK of what has been on its way for half a round trip. A
// packet sent later can not have provoked it: the NACK is a copy, or answers an
// earlier transmission, and to obey it would multiply packets.
func (r *selective) nacked(now Time, s, beyond seq, _ bool) {
	for _, x := range [...]seq{s, beyond} {
		if !r.live(x) {
			continue
		}
		if rec := r.at(x); !rec.acked && !rec.lost && now-rec.sentAt >= r.mp.rtt.smoothed()/2 {
			r.judgeLost(x, rec)
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
	una := r.mp.out.una
	r.asking = una < r.mp.out.nxt && r.at(una).acked
}
