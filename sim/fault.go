package sim

import (
	"fmt"
	"strings"
)

// Impairment is what is wrong with one direction of a link. The zero value is a
// healthy link.
type Impairment struct {
	Down      bool    // everything is lost, silently
	Loss      float64 // probability that a packet is lost
	LossEvery int     // every n-th packet is lost; 0: none
	// Burst is Gilbert and Elliott's model: a link is good or bad, and changes with
	// these probabilities at each packet; while it is bad everything is lost.
	Burst     Burst
	Corrupt   float64 // probability that a packet is damaged
	Duplicate float64 // probability that a packet arrives twice
	Delay     Time    // added to the link's own
	Jitter    Time    // a random time up to it is added, so that packets overtake
	Rate      int64   // bits per second; 0: the link's own
	// MaxPacket makes the link a path MTU black hole: IP packets of more bytes are
	// lost, and nobody is told. 0: packets of any length pass.
	MaxPacket int
	// Acks and Data restrict loss, damage and duplication to one kind of packet;
	// with neither or both they concern all.
	Acks, Data bool
	// Pauses makes PFC frames suffer too, from all but Duplicate; alone it restricts
	// loss and damage to them. Without it they pass as over a healthy link.
	Pauses bool
}

// Burst are the probabilities of Gilbert and Elliott's model.
type Burst struct{ Enter, Leave float64 }

// Direction selects a direction of a link.
type Direction uint8

// The directions of a link from its end A to its end B.
const (
	Both Direction = iota
	Forth
	Back
)

func (i *Impairment) check() error {
	for _, p := range []struct {
		name  string
		value float64
	}{{"loss", i.Loss}, {"corrupt", i.Corrupt}, {"duplicate", i.Duplicate}, {"burst enter", i.Burst.Enter}, {"burst leave", i.Burst.Leave}} {
		if !(p.value >= 0 && p.value <= 1) {
			return fmt.Errorf("%w: the probability %q is %v, must be from 0 to 1", ErrConfig, p.name, p.value)
		}
	}
	if i.LossEvery < 0 || i.Delay < 0 || i.Jitter < 0 || i.Rate < 0 || i.MaxPacket < 0 {
		return fmt.Errorf("%w: an impairment must not be negative", ErrConfig)
	}
	return nil
}

// Impair changes the condition of a link, found by name, at an instant.
func (n *Network) Impair(at Time, link string, direction Direction, i Impairment) error {
	if err := i.check(); err != nil {
		return err
	}
	number, ok := n.graph.LinkNamed(link)
	if !ok {
		return fmt.Errorf("%w: there is no link %q%s", ErrConfig, link, n.similarLink(link))
	}
	lanes := n.lanes[2*number : 2*number+2]
	switch direction {
	case Forth:
		lanes = lanes[:1]
	case Back:
		lanes = lanes[1:]
	}
	for _, lane := range lanes {
		// Each impairment draws numbers of its own, or the second of a flapping
		// link would lose the same packets as the first.
		f := newFault(i, n.cfg.Seed^mix(uint64(at)), lane)
		lane.node.call(max(at, lane.node.now()), func() { lane.impair(f) })
	}
	return nil
}

// similarLink names a link that the caller may have meant.
func (n *Network) similarLink(link string) string {
	for i := range n.graph.Links {
		name := n.graph.Links[i].Name
		if a, b, ok := strings.Cut(link, "-"); ok && name == b+"-"+a || strings.HasPrefix(name, link) {
			return fmt.Sprintf("; did you mean %q?", name)
		}
	}
	return ""
}

// fault is an impairment at work.
type fault struct {
	Impairment
	loss, corrupt, duplicate, enter, leave uint64 // odds
	dice                                   dice
	passed                                 int
	bad                                    bool
	discard                                uint8 // priorities that the watchdog drops
	lost, damaged, doubled, lostPauses     uint64
}

func newFault(i Impairment, seed uint64, lane *egress) *fault {
	f := &fault{
		Impairment: i, loss: oddsOf(i.Loss), corrupt: oddsOf(i.Corrupt), duplicate: oddsOf(i.Duplicate),
		enter: oddsOf(i.Burst.Enter), leave: oddsOf(i.Burst.Leave),
	}
	part := uint64(0)
	for _, c := range lane.name {
		part = mix(part ^ uint64(c))
	}
	f.dice = newDice(seed, part)
	return f
}

// impair puts a fault into force; a healthy one costs nothing afterwards.
func (e *egress) impair(f *fault) {
	old := e.fault
	if old != nil {
		f.lost, f.damaged, f.doubled, f.lostPauses, f.discard = old.lost, old.damaged, old.doubled, old.lostPauses, old.discard
	}
	e.fault = f
	rate := f.Rate
	if rate == 0 {
		rate = e.nominal
	}
	e.setRate(rate)
}

// transmit sends a packet over the impaired link.
func (f *fault) transmit(e *egress, arrival Time, p *packet) {
	n := e.node
	concerned := f.concerns(p)
	if f.Down || f.discard&(1<<p.priority) != 0 || f.tooLong(p) || concerned && f.loses() {
		f.lost++
		n.shard.pool.put(p)
		return
	}
	if concerned && f.corrupt != 0 && f.dice.happens(f.corrupt) {
		f.damaged++
		p.damage(&f.dice)
	}
	arrival += f.lateness()
	e.deliver(arrival, p)
	if concerned && f.duplicate != 0 && f.dice.happens(f.duplicate) {
		f.doubled++
		e.deliver(arrival+Nanosecond, n.shard.pool.copyOf(p))
	}
}

// transmitPause sends a PFC frame over the impaired link. A damaged one has a wrong
// FCS, and the peer's MAC drops it.
func (f *fault) transmitPause(e *egress, arrival Time, p *packet) {
	n := e.node
	if f.Down || f.loses() || f.corrupt != 0 && f.dice.happens(f.corrupt) {
		f.lostPauses++
		n.shard.pool.put(p)
		return
	}
	e.carry(arrival+f.lateness(), p)
}

// lateness is by how much a packet comes later than over a healthy link.
func (f *fault) lateness() Time {
	if f.Jitter > 0 {
		return f.Delay + Time(f.dice.roll()%uint64(f.Jitter))
	}
	return f.Delay
}

// tooLong says whether a packet is lost in a path MTU black hole.
func (f *fault) tooLong(p *packet) bool {
	return f.MaxPacket > 0 && int(p.size)-ethernetFraming > f.MaxPacket
}

// concerns says whether the impairment is for packets of this kind.
func (f *fault) concerns(p *packet) bool {
	if f.Acks == f.Data {
		return f.Acks || !f.Pauses
	}
	return f.Data == (p.Length > 0)
}

// loses decides whether a packet is lost.
func (f *fault) loses() bool {
	f.passed++
	if f.LossEvery > 0 && f.passed%f.LossEvery == 0 {
		return true
	}
	if f.enter != 0 {
		if f.bad {
			f.bad = !f.dice.happens(f.leave)
		} else {
			f.bad = f.dice.happens(f.enter)
		}
		if f.bad {
			return true
		}
	}
	return f.loss != 0 && f.dice.happens(f.loss)
}
