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

// roundRobin takes the paths in turn, Run packets each.
type roundRobin struct {
	unclocked
	path      Path
	run, left int
}

// NewRoundRobin makes a policy that takes the paths in turn.
func NewRoundRobin(paths int, o *MPOptions, _ *rand.Rand) PathPolicy {
	return &roundRobin{unclocked: unclocked{newUsableSet(paths)}, run: o.Run, left: o.Run}
}

func (q *roundRobin) Next() Path {
	if q.left == 0 || !q.usable.has(q.path) {
		q.path, q.left = q.usable.after(q.path), q.run
	}
	q.left--
	return q.path
}

// randomSpray takes a random path for every run of packets.
type randomSpray struct {
	unclocked
	path      Path
	run, left int
	r         *rand.Rand
}

// NewRandomSpray makes a policy that takes random paths, blind to feedback.
func NewRandomSpray(paths int, o *MPOptions, r *rand.Rand) PathPolicy {
	return &randomSpray{unclocked: unclocked{newUsableSet(paths)}, run: o.Run, r: r}
}

func (q *randomSpray) Next() Path {
	if q.left == 0 || !q.usable.has(q.path) {
		q.path, q.left = q.usable.random(q.r), q.run
	}
	q.left--
	return q.path
}
