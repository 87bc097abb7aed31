package scenario

import (
	"path"

	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/sim/topology"
)

// Fault is something that happens to links. The fields of sim.Impairment follow
// in kebab-case. A link has one condition at a time: a later fault replaces what
// an earlier one had made of it.
type Fault struct {
	At    sim.Time // when it begins
	Until sim.Time // when the link is healthy again; 0: never
	// Link names the links. A name may have the wildcards * and ?, as in
	// leaf*-spine0.
	Link      Names
	Direction sim.Direction
	sim.Impairment
	Flap *Flap
}

// Flap repeats a fault.
type Flap struct {
	Period sim.Time // from one onset to the next
	Times  int      // onsets
	Held   sim.Time // how long the fault holds each time; 0: half the period
}

// maxFlaps bounds the events that one line of a scenario can ask for.
const maxFlaps = 100_000

// A change of a link's condition.
type change struct {
	at      sim.Time
	healthy bool
}

// changes lists when the fault comes and goes.
func (f *Fault) changes() []change {
	if f.Flap == nil {
		changes := []change{{at: f.At}}
		if f.Until > 0 {
			changes = append(changes, change{f.Until, true})
		}
		return changes
	}
	held := f.Flap.Held
	if held == 0 {
		held = f.Flap.Period / 2
	}
	var changes []change
	for i := range f.Flap.Times {
		onset := f.At + sim.Time(i)*f.Flap.Period
		changes = append(changes, change{at: onset}, change{onset + held, true})
	}
	return changes
}

// linksLike lists the links that a name with wildcards stands for.
func linksLike(g *topology.Graph, pattern string) []string {
	var names []string
	for i := range g.Links {
		if ok, err := path.Match(pattern, g.Links[i].Name); ok && err == nil {
			names = append(names, g.Links[i].Name)
		}
	}
	return names
}

// impair scripts the faults.
func (s *Scenario) impair(n *sim.Network) error {
	for _, f := range s.Faults {
		for _, pattern := range f.Link {
			for _, link := range linksLike(s.graph, pattern) {
				for _, c := range f.changes() {
					condition := f.Impairment
					if c.healthy {
						condition = sim.Impairment{}
					}
					if err := n.Impair(c.at, link, f.Direction, condition); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}
