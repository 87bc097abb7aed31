package transport

import "math/rand/v2"

// ackClock is multi-path ACK clocking (MP-RDMA §3.2): a packet released by an
// acknowledgement follows the virtual path that the acknowledgement names;
// every other packet takes the next of a random deal. It keeps no per-path
// congestion state.
type ackClock struct {
	usable usableSet
	clocks fifo[clockedRun] // released by acknowledgements
	run    int              // packets in a row on one chosen path
	left   int              // packets left of the current chosen run
	chosen Path             // path of the current chosen run
	deck   *usableSet       // paths that spare has not dealt since it dealt all; nil where load is known
	r      *rand.Rand
	steer  steering
}

type clockedRun struct {
	path  Path
	count int
}

// NewAckClock makes the paper's path policy.
func NewAckClock(paths int, o *MPOptions, r *rand.Rand) PathPolicy {
	a := newAckClock(paths, o, r)
	return &a
}

func newAckClock(paths int, o *MPOptions, r *rand.Rand) ackClock {
	a := ackClock{usable: newUsableSet(paths), run: o.Run, r: r}
	if o.Rebalance {
		a.steer = steering{on: true, trouble: make([]uint16, paths)}
	} else {
		deck := a.usable
		a.deck = &deck
	}
	return a
}

func (a *ackClock) AckClocked() bool { return true }

func (a *ackClock) Next() Path {
	p, clocked := a.takeClock()
	if a.left > 0 && a.usable.has(a.chosen) {
		a.left--
		return a.chosen
	}
	a.left = 0
	if !clocked || !a.usable.has(p) {
		return a.begin(a.spare(), a.steer.run(a))
	}
	if q, packets := a.steer.away(p, a); packets > 0 {
		return a.begin(q, packets)
	}
	return p
}

// begin chooses the path of this packet and of the rest of its run.
func (a *ackClock) begin(p Path, packets int) Path {
	a.chosen, a.left = p, packets-1
	return p
}

// spare returns the path of a packet that no acknowledgement released: the one
// with the least load where that is known, otherwise a random one, and none twice
// before each had its turn: §3.2 spreads the initial window randomly "to IW
// initial VPs".
func (a *ackClock) spare() Path {
	if q, ok := a.steer.idlest(a); ok {
		return q
	}
	if a.deck == nil {
		return a.usable.random(a.r)
	}
	for {
		q := a.deck.random(a.r)
		if a.deck.count == 1 {
			*a.deck = a.usable
		} else {
			a.deck.set(q, false)
		}
		if a.usable.has(q) {
			return q
		}
	}
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

func (a *ackClock) Feedback(p Path, s Signal, clocked int) {
	a.steer.note(p, s)
	if p == a.chosen && (s == Nacked || s == TimedOut) {
		// What is sent again must not follow what was lost: a few packets at the end
		// of a message would use up their retries before they use up the run.
		a.left = 0
	}
	if clocked == 0 {
		return
	}
	if c := a.openRun(p); c != nil {
		c.count += clocked
		return
	}
	*a.clocks.push() = clockedRun{p, clocked}
}

// openRun returns the run that further releases to p can join. The paper sends in
// the order of the acknowledgements. Where packets go in runs, all that one path
// is due goes out together: long runs are what segmentation offload, batched
// acknowledgements and so the next releases are made of.
func (a *ackClock) openRun(p Path) *clockedRun {
	for i := a.clocks.len() - 1; i >= 0; i-- {
		if c := a.clocks.at(i); c.path == p {
			return c
		}
		if a.run == 1 {
			break
		}
	}
	return nil
}

// Restart forgets releases, the run that was begun and what was dealt.
func (a *ackClock) Restart() {
	if a.deck != nil {
		*a.deck = a.usable
	}
	a.clocks.clear()
	a.left = 0
}

// SetUsable takes a path out of use or brings it back; then its past is forgotten.
func (a *ackClock) SetUsable(p Path, usable bool) {
	a.usable.set(p, usable)
	if usable {
		a.steer.forgive(p)
	}
}
