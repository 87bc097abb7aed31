package transport

import "math/rand/v2"

// ackClock is multi-path ACK clocking (MP-RDMA §3.2): a packet released by an
// acknowledgement follows the virtual path that the acknowledgement names;
// every other packet takes a random one. It keeps no per-path congestion state.
type ackClock struct {
	usable usableSet
	clocks fifo[clockedRun] // released by acknowledgements, in their order
	run    int              // packets in a row on one random path
	left   int              // packets left of the current random run
	random Path             // path of the current random run
	owed   Path             // path that came back and is due its share
	debt   int              // packets it is still due
	turn   bool             // every second release pays the debt
	r      *rand.Rand
}

type clockedRun struct {
	path  Path
	count int
}

// NewAckClock makes the paper's path policy.
func NewAckClock(paths int, o *MPOptions, r *rand.Rand) PathPolicy {
	return &ackClock{usable: newUsableSet(paths), run: o.Run, r: r}
}

func (a *ackClock) AckClocked() bool { return true }

func (a *ackClock) Next() Path {
	if a.debt > 0 {
		if a.turn = !a.turn; a.turn || a.clocks.len() == 0 {
			a.debt--
			a.takeClock()
			return a.owed
		}
	}
	if p, ok := a.takeClock(); ok && a.usable.has(p) {
		return p
	}
	return a.randomPath()
}

// takeClock uses up one release.
func (a *ackClock) takeClock() (Path, bool) {
	if a.clocks.len() == 0 {
		return 0, false
	}
	c := a.clocks.at(0)
	p := c.path
	if c.count--; c.count == 0 {
		a.clocks.pop()
	}
	return p, true
}

func (a *ackClock) randomPath() Path {
	if a.left == 0 || !a.usable.has(a.random) {
		a.random, a.left = a.usable.random(a.r), a.run
	}
	a.left--
	return a.random
}

func (a *ackClock) Feedback(p Path, _ Signal, clocked int) {
	if clocked == 0 {
		return
	}
	if n := a.clocks.len(); n > 0 && a.clocks.at(n-1).path == p {
		a.clocks.at(n - 1).count += clocked
		return
	}
	*a.clocks.push() = clockedRun{p, clocked}
}

// SetUsable brings a path back with a claim to its share: where nothing marks
// congestion, ACK clocking alone would keep the split of before for ever.
func (a *ackClock) SetUsable(p Path, usable bool) {
	if usable && !a.usable.has(p) {
		a.owed, a.debt = p, restoredShare
	}
	if !usable && p == a.owed {
		a.debt = 0
	}
	a.usable.set(p, usable)
}

// restoredShare is how many packets a restored path is given to restart its
// ACK clock: a few segmented sends, and small beside any switch queue.
const restoredShare = 48
