package transport

import "math/rand/v2"

// penalties sprays over all paths and lets each that did badly sit out some of
// its turns: it keeps a small penalty per path. A path with a penalty is
// skipped when its turn comes, and pays one off. The order of the paths changes
// with every round, so that connections do not march in step.
type penalties struct {
	runs
	order []Path // of the present round
	at    int    // the next turn in it
	owed  []uint8
	r     *rand.Rand
}

// What a signal costs, in turns.
const (
	penaltyMarked = 1
	penaltyNacked = 4
	penaltyMost   = 15 // also that of a timeout
)

// NewPenalty makes a policy that sprays in random order and skips paths that
// were marked or lost packets.
func NewPenalty(paths int, o *MPOptions, r *rand.Rand) PathPolicy {
	p := &penalties{
		runs:  runs{unclocked: unclocked{newUsableSet(paths)}, run: o.Run},
		order: make([]Path, paths), owed: make([]uint8, paths), r: r,
	}
	for i := range p.order {
		p.order[i] = Path(i)
	}
	p.at = paths
	return p
}

func (p *penalties) Next() Path {
	if p.over() {
		p.begin(p.choose())
	}
	return p.next()
}

// choose goes through the turns until one is taken. Some path is usable and
// owes at most penaltyMost, so this ends after so many rounds at the latest.
func (p *penalties) choose() Path {
	for {
		q := p.turn()
		if !p.usable.has(q) {
			continue
		}
		if p.owed[q] == 0 {
			return q
		}
		p.owed[q]--
	}
}

// turn returns whose turn it is, and begins a new round after the last.
func (p *penalties) turn() Path {
	if p.at == len(p.order) {
		p.at = 0
		p.r.Shuffle(len(p.order), func(i, j int) { p.order[i], p.order[j] = p.order[j], p.order[i] })
	}
	q := p.order[p.at]
	p.at++
	return q
}

// Feedback charges a path for what happened to a packet of it.
func (p *penalties) Feedback(q Path, s Signal, clocked int) {
	p.runs.Feedback(q, s, clocked)
	if int(q) >= len(p.owed) {
		return
	}
	switch s {
	case Marked, Slow:
		p.charge(q, penaltyMarked)
	case Nacked:
		p.charge(q, penaltyNacked)
	case TimedOut:
		p.charge(q, penaltyMost)
	}
}

func (p *penalties) charge(q Path, turns uint8) {
	p.owed[q] = min(p.owed[q]+turns, penaltyMost)
}
