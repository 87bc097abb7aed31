package mprdma12a

import (
	"context"
	"fmt"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/figures/testbed"
	"github.com/braid-rdma/braid/sim"
)

// The transports of the scenario.
const (
	multiPath = "mp"
	dcqcn     = "dcqcn"
)

// What the scenario has where a case says nothing else.
const (
	baseMTU  = 1024
	baseMark = 20 // KB
	bdp      = 60_000
)

// A setting is what several runs with different seeds have in common.
type setting struct {
	transport string
	mtu       int
	mark      int // threshold of ECN, in KB
}

// A testCase is one run.
type testCase struct {
	setting
	seed     uint64
	from, to sim.Time
}

// A result is what a run found.
type result struct {
	setting
	goodputs []float64 // of the connections, in Gb/s
	used     int       // paths that carried anything
}

// plan lists the runs. DCQCN runs longer, because after the collision of all
// connections at the start it takes some 30 ms to climb back; and more often,
// because its result depends on the dice of ECMP.
func plan(o figure.Options) []testCase {
	var cases []testCase
	add := func(s setting, runs uint64, from, to sim.Time) {
		for i := range runs {
			cases = append(cases, testCase{s, o.Seed + i, from, to})
		}
	}
	base := setting{multiPath, baseMTU, baseMark}
	if o.Quick {
		add(base, 1, 2*sim.Millisecond, 5*sim.Millisecond)
		add(setting{dcqcn, baseMTU, baseMark}, 5, 2*sim.Millisecond, 5*sim.Millisecond)
		return cases
	}
	add(base, 6, 5*sim.Millisecond, 15*sim.Millisecond)
	add(setting{dcqcn, baseMTU, baseMark}, 24, 35*sim.Millisecond, 50*sim.Millisecond)
	for _, mtu := range []int{1024, 2048, 4096} {
		for _, mark := range []int{20, 30, 40, 60} {
			if s := (setting{multiPath, mtu, mark}); s != base {
				add(s, 1, 5*sim.Millisecond, 15*sim.Millisecond)
			}
		}
	}
	return cases
}

// measure runs a case.
func (c *testCase) measure(ctx context.Context, account *testbed.Account) (result, error) {
	r := result{setting: c.setting}
	rig, err := testbed.Start(scenarioFile,
		fmt.Sprint("seed=", c.seed),
		fmt.Sprint("workload[0].transport=", c.transport),
		fmt.Sprint("fabric.mtu=", c.mtu),
		fmt.Sprintf("fabric.ecn={kmin: %[1]dKB, kmax: %[1]dKB, pmax: 1.0}", c.mark),
		fmt.Sprint("transports.mp.initial-window=", bdp/c.mtu),
	)
	if err != nil {
		return r, err
	}
	if err := rig.Until(ctx, c.from); err != nil {
		return r, err
	}
	if r.goodputs, err = rig.Goodputs(ctx, c.to); err != nil {
		return r, err
	}
	for p := range 4 {
		if rig.Path(p).Packets > 0 {
			r.used++
		}
	}
	account.Book(rig)
	return r, nil
}
