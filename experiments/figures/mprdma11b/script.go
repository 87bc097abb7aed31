package mprdma11b

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/braid-rdma/braid/experiments/figures/testbed"
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

// faults is the script as a scenario has it.
func (s script) faults() string {
	var lines []string
	for p := range s.cut {
		lines = append(lines, fmt.Sprintf("{at: %dps, until: %dps, link: tor0-path%d, down: true}", s.cut[p], s.restored[p], p+1))
	}
	return "faults=[" + strings.Join(lines, ", ") + "]"
}

// A phase is a stretch of time with the same paths alive.
type phase struct {
	from, to sim.Time
	alive    int
}

// phases cuts the script at its events.
func (s script) phases() []phase {
	events := slices.Concat([]sim.Time{0}, s.cut, s.restored, []sim.Time{s.end})
	slices.Sort(events)
	var all []phase
	for i := range events[1:] {
		all = append(all, phase{events[i], events[i+1], s.alive(events[i])})
	}
	return all
}

// alive counts the paths that work from an instant on.
func (s script) alive(at sim.Time) int {
	alive := paths
	for p := range s.cut {
		if s.cut[p] <= at && at < s.restored[p] {
			alive--
		}
	}
	return alive
}

const (
	paths    = 4
	pathRate = 10.0 // Gb/s
	// bin is what rates are averaged over: the paper's figure shows seconds, and
	// here a millisecond stands for one of them.
	bin = sim.Millisecond
)

// watch runs the script.
func watch(ctx context.Context, s script, seed uint64, account *testbed.Account) ([]testbed.Sample, error) {
	rig, err := testbed.Start(scenarioFile, fmt.Sprint("seed=", seed), fmt.Sprintf("duration=%dps", s.end), s.faults())
	if err != nil {
		return nil, err
	}
	samples, err := rig.Series(ctx, s.end, bin)
	account.Book(rig)
	return samples, err
}
