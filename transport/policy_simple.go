package transport

import "math/rand/v2"

// usableSet is the set of paths that may be used: never empty, since a policy
// must always return one.
type usableSet struct {
	out   [MaxPaths / 64]uint64 // paths out of use
	paths int
	count int // paths in use
}

func newUsableSet(paths int) usableSet { return usableSet{paths: paths, count: paths} }

func (u *usableSet) has(p Path) bool {
	return int(p) < u.paths && u.out[p/64]&(1<<(p%64)) == 0
}

// set keeps at least one path in use.
func (u *usableSet) set(p Path, usable bool) {
	if int(p) >= u.paths || usable == u.has(p) || !usable && u.count == 1 {
		return
	}
	u.out[p/64] ^= 1 << (p % 64)
	if usable {
		u.count++
	} else {
		u.count--
	}
}

// random returns a usable path, each with the same chance.
func (u *usableSet) random(r *rand.Rand) Path {
	k := r.IntN(u.count)
	for p := Path(0); ; p++ {
		if u.has(p) {
			if k == 0 {
				return p
			}
			k--
		}
	}
}

// another returns a random path, and not p if that is to be avoided and there are others.
func (u *usableSet) another(p Path, avoid bool, r *rand.Rand) Path {
	q := u.random(r)
	if avoid && q == p {
		return u.after(p)
	}
	return q
}

// after returns the next usable path in the order of numbers.
func (u *usableSet) after(p Path) Path {
	for {
		p++
		if int(p) >= u.paths {
			p = 0
		}
		if u.has(p) {
			return p
		}
	}
}

// unclocked is what the policies without ACK clocking share.
type unclocked struct{ usable usableSet }

func (u *unclocked) AckClocked() bool              { return false }
func (u *unclocked) Feedback(Path, Signal, int)    {}
func (u *unclocked) SetUsable(p Path, usable bool) { u.usable.set(p, usable) }

// singlePath uses one path until it is retired, then the next.
type singlePath struct {
	unclocked
	path Path
}

// NewSinglePath makes a policy that behaves like a connection without multi-path.
func NewSinglePath(paths int, _ *MPOptions, r *rand.Rand) PathPolicy {
	u := newUsableSet(paths)
	return &singlePath{unclocked{u}, u.random(r)}
}

func (s *singlePath) Next() Path {
	if !s.usable.has(s.path) {
		s.path = s.usable.after(s.path)
	}
	return s.path
}

// runs is what the policies share that send some packets in a row on one path. What is sent
// again must not follow what was lost: a few packets at the end of a message would use up
// their retries before they use up the run.
type runs struct {
	unclocked
	path      Path
	run, left int
	lost      bool // the path lost a packet of its run
}

// Feedback ends the run of a path that loses packets.
func (q *runs) Feedback(p Path, s Signal, _ int) {
	if p == q.path && (s == Nacked || s == TimedOut) {
		q.left, q.lost = 0, true
	}
}

// over says whether the next packet begins a run.
func (q *runs) over() bool { return q.left == 0 || !q.usable.has(q.path) }

// begin makes a path that of the next packets.
func (q *runs) begin(p Path) { q.path, q.left, q.lost = p, q.run, false }

// next counts a packet of the run.
func (q *runs) next() Path {
	q.left--
	return q.path
}

// roundRobin takes the paths in turn, Run packets each.
type roundRobin struct{ runs }

// NewRoundRobin makes a policy that takes the paths in turn.
func NewRoundRobin(paths int, o *MPOptions, _ *rand.Rand) PathPolicy {
	return &roundRobin{runs{unclocked: unclocked{newUsableSet(paths)}, run: o.Run, left: o.Run}}
}

func (q *roundRobin) Next() Path {
	if q.over() {
		q.begin(q.usable.after(q.path))
	}
	return q.next()
}

// randomSpray takes a random path for every run of packets.
type randomSpray struct {
	runs
	r *rand.Rand
}

// NewRandomSpray makes a policy that takes random paths, and after a loss another one.
func NewRandomSpray(paths int, o *MPOptions, r *rand.Rand) PathPolicy {
	return &randomSpray{runs: runs{unclocked: unclocked{newUsableSet(paths)}, run: o.Run}, r: r}
}

func (q *randomSpray) Next() Path {
	if q.over() {
		q.begin(q.usable.another(q.path, q.lost, q.r))
	}
	return q.next()
}
