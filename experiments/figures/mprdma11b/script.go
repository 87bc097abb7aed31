package mprdma11b

import (
	"fmt"
	"slices"

	"github.com/braid-rdma/braid/experiments/figures/testbed"
	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/sim"
)

// A script says when paths are cut and restored, in the order of paths.
type script struct {
	cut, restored []sim.Time
	end           sim.Time
}

// paperScript is that of the paper with milliseconds for its seconds.
var paperScript = script{
	cut:      []sim.Time{60 * sim.Millisecond, 120 * sim.Millisecond, 180 * sim.Millisecond},
	restored: []sim.Time{250 * sim.Millisecond, 310 * sim.Millisecond, 370 * sim.Millisecond},
	end:      430 * sim.Millisecond,
}

// quickScript cuts and restores path 1 only.
var quickScript = script{
	cut:      []sim.Time{15 * sim.Millisecond},
	restored: []sim.Time{30 * sim.Millisecond},
	end:      75 * sim.Millisecond,
}

// apply makes the faults of a scenario those of the script.
func (s script) apply(to *scenario.Scenario) {
	to.Faults = nil
	for p := range s.cut {
		to.Faults = append(to.Faults, &scenario.Fault{
			At: s.cut[p], Until: s.restored[p], Link: scenario.Names{fmt.Sprint("tor0-path", p+1)}, Impairment: sim.Impairment{Down: true},
		})
	}
}

// A phase is a stretch of time with the same paths alive.
type phase struct {
	from, to sim.Time
	alive    int
}

// phases cuts the script at its events.
func (s script) phases() (all []phase) {
	events := slices.Concat([]sim.Time{0}, s.cut, s.restored, []sim.Time{s.end})
	slices.Sort(events)
	for i := range events[1:] {
		all = append(all, phase{events[i], events[i+1], s.alive(events[i])})
	}
	return all
}

// alive counts the paths that work from an instant on.
func (s script) alive(at sim.Time) int {
	alive := testbed.Paths
	for p := range s.cut {
		if s.cut[p] <= at && at < s.restored[p] {
			alive--
		}
	}
	return alive
}
