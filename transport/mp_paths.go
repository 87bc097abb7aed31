package transport

import "math/rand/v2"

// pathSet is what the sender knows about its virtual paths: counters for
// people, the policy that chooses among them, and which are out of use.
//
// Retiring paths goes beyond the paper, whose lossy paths merely lose their
// ACK clock: a path that loses while others do not is taken out of use at
// once and probed before it is used again. Loss on all paths is congestion,
// and retires none.
type pathSet struct {
	policy    PathPolicy
	clocked   Clocked // the policy, if it wants to know the time
	table     pathTable
	sources   sourcePorts
	size      int32  // smoothed payload of a packet, in eighths of a byte
	probeNew  bool   // the next packet tries a random path
	probeDue  bool   // retired paths are to be probed
	retiring  bool   // RetirePaths
	tolerance uint8  // LossTolerance, of 256
	probeRoll Time   // next chance to probe a new path
	losses    losses // whose they are
}

const (
	// firstProbeWait is the first wait of a retired path; each further one doubles.
	firstProbeWait = 2 * Millisecond
	// longestProbeWait bounds the doubling: a restored path is back within a fraction of a second.
	longestProbeWait = 100 * Millisecond
	// probesToRestore is how many probes in a row must come back.
	probesToRestore = 3
	// calmTime is how long a path must behave before its record is forgotten.
	calmTime = Second
)

// mpPath is one virtual path.
type mpPath struct {
	pathCounts
	lastLoss    Time
	*retirement // since the path first lost packets
}

// pathCounts are PathCounters in less space: an idle connection has little.
type pathCounts struct {
	Sent, Acknowledged, Lost, Marked uint64
	Bytes                            uint64
	srtt                             uint32 // nanoseconds
	sinceLoss                        uint16 // packets that arrived since one was lost
	lostInRow                        uint8
	Retired                          bool
}

// counters are the counts as the outside sees them.
func (c *pathCounts) counters() PathCounters {
	return PathCounters{
		Sent: c.Sent, Acknowledged: c.Acknowledged, Lost: c.Lost, Marked: c.Marked,
		Bytes: c.Bytes, SmoothedRTT: Time(c.srtt), Retired: c.Retired,
	}
}

// inFlight is the number of packets that the path has in the network.
func (c *pathCounts) inFlight() int { return int(c.Sent - c.Acknowledged - c.Lost) }

// retirement is what is known of a path that has lost packets, and may be out of use.
type retirement struct {
	suspectAt  Time   // when the first loss of a possible series was noticed
	lostThen   uint64 // packets of the path, until then
	goodThen   uint64
	retiredAt  Time
	probeAt    Time // when the next probe is due
	probeWait  Time // how long the last probe was given
	probeStamp uint32
	probing    bool  // the probe with this stamp is not acknowledged
	probeNext  bool  // the next probe follows a good one
	probesGood uint8 // probes of this retirement that came back
	times      uint8 // retirements in quick succession: each doubles the wait
}

// use installs a policy, and tells it what is out of use.
func (s *pathSet) use(p PathPolicy, observeLoad bool) {
	s.policy = p
	s.clocked, _ = p.(Clocked)
	if o, ok := p.(LoadObserver); ok && observeLoad {
		o.ObserveLoad(s)
	}
	for i := range Path(s.table.len()) {
		if s.table.look(i).Retired {
			p.SetUsable(i, false)
		}
	}
}

// InFlight implements Load.
func (s *pathSet) InFlight(p Path) int { return s.table.look(p).inFlight() }

// PacketSize implements Load.
func (s *pathSet) PacketSize() int { return int(s.size / 8) }

// has says whether there is such a path.
func (s *pathSet) has(p uint16) bool { return int(p) < s.table.len() }

// counters are the statistics of all paths.
func (s *pathSet) counters() []PathCounters {
	c := make([]PathCounters, s.table.len())
	for i := range c {
		c[i] = s.table.look(Path(i)).counters()
	}
	return c
}

// next returns the path of the next packet, of some bytes of payload. It asks the policy, unless it is
// time to probe: once per round trip, with probability p, a packet goes to a
// random virtual path (§3.5). A packet of which nothing was said goes by another path than the one that it went by
// before: a policy that is in the middle of a run there, or whose turns fall together with those of the other
// stream, would have it go there until its retries are used up, though others are well.
func (s *pathSet) next(now Time, bytes int, avoid Path, r *rand.Rand) (p Path, probe bool) {
	if s.size == 0 {
		s.size = 8 * int32(bytes)
	}
	s.size += int32(bytes) - s.size/8
	if s.clocked != nil {
		s.clocked.At(now)
	}
	p = s.policy.Next()
	if p == avoid {
		return s.besides(p, r), false
	}
	if s.probeNew {
		s.probeNew = false
		if q := s.toProbe(r); !s.table.look(q).Retired {
			return q, true
		}
	}
	return p, false
}

// besides returns another path than p that is in use, if there is one.
func (s *pathSet) besides(p Path, r *rand.Rand) Path {
	paths := s.table.len()
	first := r.IntN(paths)
	for i := range paths {
		if q := Path((first + i) % paths); q != p && !s.table.look(q).Retired {
			return q
		}
	}
	return p
}

// rollProbe decides once per round trip, with a probability, whether the next
// packet tries a random path (§3.5).
func (s *pathSet) rollProbe(now, rtt Time, probability float64, r *rand.Rand) {
	if now < s.probeRoll {
		return
	}
	s.probeRoll = now + rtt
	s.probeNew = r.Float64() < probability
}

// toProbe is a random path. Where the engine has more source ports than the
// connection has paths, one that has nothing in flight is moved to a new port (§3.5: "a
// new random VP"): what is on its way keeps its order by keeping its port.
func (s *pathSet) toProbe(r *rand.Rand) Path {
	paths := s.table.len()
	q := Path(r.IntN(paths))
	for tries := 0; s.sources.spare(paths) && tries < probeTries; tries++ {
		if at := s.table.look(q); !at.Retired && at.inFlight() == 0 {
			s.sources.move(q, paths, r)
			break
		}
		q = Path(r.IntN(paths))
	}
	return q
}

// probeTries is how many paths are looked at in search of an idle one.
const probeTries = 8

// restart forgets releases from before a timeout or an idle time: they say
// where packets could go then.
func (s *pathSet) restart() {
	if r, ok := s.policy.(Restarter); ok {
		r.Restart()
	}
}

// sample takes a measured round trip.
func (s *pathSet) sample(p Path, rtt Time) {
	path := s.table.record(p)
	smoothed := Time(path.srtt)
	if smoothed == 0 {
		smoothed = rtt
	}
	path.srtt = uint32(smoothed + (rtt-smoothed)/8)
}

// losing notes that packets of a path were lost, and returns whether that
// retires it. What is lost costs little as long as nothing has to wait for it.
func (s *pathSet) losing(now Time, p Path, silent, cheap bool, rtt Time) bool {
	path := s.table.record(p)
	s.policy.Feedback(p, Nacked, 0)
	path.lastLoss = now
	if path.retirement == nil {
		path.retirement = &retirement{}
	}
	if !s.retiring || path.Retired || s.inUse() == 1 {
		return false
	}
	tolerant := s.tolerance > 0 && cheap && !s.slow(path, rtt)
	if silent && tolerant {
		silent = path.lostInRow >= reorderTolerance
	}
	if !silent && !s.suspected(now, p, tolerant, rtt) {
		return false
	}
	s.retire(now, p)
	return true
}

// slow says whether the round trip of a path is long, compared to that of all.
func (s *pathSet) slow(path *mpPath, rtt Time) bool { return Time(path.srtt) >= 2*rtt }

// suspected says whether a path has lost again, a round trip or more after its
// first loss, while another path in use lost nothing; and more than is tolerated. A single burst that hits
// all paths is proven for one a little sooner than for the others, and must
// not make that one look alone.
func (s *pathSet) suspected(now Time, p Path, tolerant bool, rtt Time) bool {
	path := s.table.record(p)
	if path.suspectAt == 0 || now-path.suspectAt > calmTime {
		path.suspectAt, path.lostThen, path.goodThen = now, path.Lost, path.Acknowledged
		return false
	}
	lost, good := int64(path.Lost-path.lostThen), int64(path.Acknowledged-path.goodThen)
	if tolerant && (lost <= reorderTolerance || 256*lost < int64(s.tolerance)*(lost+good)) {
		return false
	}
	return now-path.suspectAt >= rtt && s.othersCalm(path.suspectAt, p)
}

func (s *pathSet) retire(now Time, p Path) {
	path := s.table.record(p)
	path.Retired, path.suspectAt = true, 0
	if now-path.retiredAt > calmTime {
		path.times = 0
	}
	path.probesGood = 0
	path.retiredAt = now
	path.probeWait = min(firstProbeWait<<path.times, longestProbeWait)
	path.times = min(path.times+1, 6)
	path.probeAt = now + path.probeWait
	s.policy.SetUsable(p, false)
}

// restore brings a retired path back into use.
func (s *pathSet) restore(now Time, p Path) {
	q := s.table.record(p)
	q.Retired = false
	q.retiredAt, q.lastLoss = now, 0
	s.policy.SetUsable(p, true)
}

// othersCalm says whether some other path in use has lost nothing since then.
func (s *pathSet) othersCalm(since Time, p Path) bool {
	for i := range Path(s.table.len()) {
		q := s.table.look(i)
		if i != p && !q.Retired && q.Sent > 0 && q.lastLoss < since {
			return true
		}
	}
	return false
}

func (s *pathSet) inUse() int {
	n := 0
	for i := range Path(s.table.len()) {
		if !s.table.look(i).Retired {
			n++
		}
	}
	return n
}

// probeTime is when the next probe of a retired path is due; zero: never.
func (s *pathSet) probeTime() Time {
	var next Time
	for i := range Path(s.table.len()) {
		if q := s.table.look(i); q.Retired && (next == 0 || q.probeAt < next) {
			next = q.probeAt
		}
	}
	return next
}

// probe returns a retired path whose probe is due.
func (s *pathSet) probe(now Time) (Path, bool) {
	if !s.probeDue {
		return 0, false
	}
	for i := range Path(s.table.len()) {
		q := s.table.look(i)
		if !q.Retired || q.probeAt > now {
			continue
		}
		if !q.probeNext {
			// The acknowledgement of the previous probe is overdue.
			q.probesGood = 0
			q.probeWait = min(2*q.probeWait, longestProbeWait)
		}
		q.probeNext = false
		q.probeAt = now + q.probeWait
		q.probeStamp, q.probing = now.stamp(), true
		return i, true
	}
	s.probeDue = false
	return 0, false
}

// probeAcked notes that a probe came back: the next one goes at once. It
// returns whether enough of them did for the path to be used again.
func (s *pathSet) probeAcked(now Time, p Path, stamp uint32) bool {
	q := s.table.record(p)
	// Copies of one acknowledgement prove no more than the first.
	if !q.Retired || !q.probing || stamp != q.probeStamp {
		return false
	}
	q.probing = false
	if q.probesGood++; q.probesGood >= probesToRestore {
		return true
	}
	q.probeAt, q.probeNext = now, true
	s.probeDue = true
	return false
}

// blameSilence tells the policy on which paths packets were not acknowledged. A
// path that had none in the network has not been silent, and is where the next
// ones should go: a path whose acknowledgements are lost looks idle, and would
// otherwise be chosen for the same packets until the retries are used up.
func (s *pathSet) blameSilence(knowsLoad bool) {
	for p := range Path(s.table.len()) {
		if !knowsLoad || s.InFlight(p) > 0 {
			s.policy.Feedback(p, TimedOut, 0)
		}
	}
}
