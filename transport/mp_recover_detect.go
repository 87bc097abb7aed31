package transport

// giveUp takes a transmission for lost because the packet is sent again on
// suspicion. If what other paths were given later has arrived, that speaks
// against its path; and a path that has swallowed several in a row is dead:
// with little to send, no later arrival by the path itself would ever prove it.
func (r *selective) giveUp(now Time, s seq, rec *record) {
	r.judgeLost(s, rec)
	if r.newest > rec.sentAt {
		r.mp.pathLost(now, rec.path, r.mp.paths.look(rec.path).unheard >= reorderTolerance)
	}
}

// judgeLost takes a transmission out of flight.
func (r *selective) judgeLost(s seq, rec *record) {
	rec.lost = true
	if r.lost++; r.lost == 1 || s < r.lowest {
		r.lowest = s
	}
	r.flying--
	path := r.mp.paths.record(rec.path)
	path.Lost++
	path.unheard = min(path.unheard+1, 1<<15)
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
	for p := range Path(r.mp.paths.len()) {
		found += r.sweep(p, now, silence)
	}
	return found
}

// patienceWithSlowPaths is how many times longer a path that is heard of may take.
const patienceWithSlowPaths = 4

// minSilence keeps the scheduling noise of hosts from looking like a dead path.
const minSilence = Millisecond

func (r *selective) sweep(p Path, now Time, silence Time) int {
	path := r.mp.paths.look(p)
	if path.flight == nil {
		return 0
	}
	if now <= path.heardAt+silence {
		// It is slower than the others, not silent: later arrivals by the path itself
		// tell what was lost. But everything waits for its packets meanwhile.
		silence *= patienceWithSlowPaths
	}
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
