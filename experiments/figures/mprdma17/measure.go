package mprdma17

import (
	"context"
	"errors"
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
	baseMTU   = 1024
	baseMark  = 20 // KB
	maxDegree = 9
	bdp       = 60_000
)

// A setting is what several runs with different seeds have in common.
type setting struct {
	transport string
	degree    int
	mtu       int
	mark      int // threshold of ECN, in KB
}

// A testCase is one run.
type testCase struct {
	setting
	seed  uint64
	bytes int64 // of each sender
}

// The data of a sender: 1 Gb, as in the paper.
const (
	paperBytes = 125_000_000
	quickBytes = 2_500_000
)

// repetitions is how often the paper repeats a run.
const repetitions = 5

// sensitivityDegree is the incast for which MTU and threshold vary.
const sensitivityDegree = 5

// plan lists the runs, those of many senders first. MP-RDMA repeats its runs as
// the paper does, because it matters behind which ToR the senders are; a fifth of
// the data gives the same goodput. DCQCN needs all of it, because its start is
// slow, and does not depend on the place of senders.
func plan(o figure.Options) []testCase {
	var cases []testCase
	add := func(s setting, repetitions uint64, bytes int64) {
		for i := range repetitions {
			cases = append(cases, testCase{s, o.Seed + i, bytes})
		}
	}
	for degree := maxDegree; degree >= 1; degree-- {
		switch {
		case !o.Quick:
			add(setting{multiPath, degree, baseMTU, baseMark}, repetitions, paperBytes/repetitions)
			add(setting{dcqcn, degree, baseMTU, baseMark}, 1, paperBytes)
		case degree%4 == 1:
			add(setting{multiPath, degree, baseMTU, baseMark}, 1, quickBytes)
			add(setting{dcqcn, degree, baseMTU, baseMark}, 1, quickBytes)
		}
	}
	if !o.Quick {
		for _, mtu := range mtus {
			for _, mark := range marks {
				if s := (setting{multiPath, sensitivityDegree, mtu, mark}); mtu != baseMTU || mark != baseMark {
					add(s, 1, paperBytes/repetitions)
				}
			}
		}
	}
	return cases
}

// The packet sizes and thresholds of the sensitivity plot.
var (
	mtus  = []int{baseMTU, 2048, 4096}
	marks = []int{baseMark, 30, 40, 60}
)

var errUnfinished = errors.New("the senders have not finished")

// measure returns the goodput at the receiver until the last sender is done, in
// Gb/s.
func (c *testCase) measure(ctx context.Context, account *testbed.Account) (float64, error) {
	rig, err := testbed.Start(scenarioFile,
		fmt.Sprint("seed=", c.seed),
		fmt.Sprint("workload[0].transport=", c.transport),
		fmt.Sprint("workload[0].degree=", c.degree),
		fmt.Sprint("workload[0].bytes=", c.bytes),
		fmt.Sprint("fabric.mtu=", c.mtu),
		fmt.Sprintf("fabric.ecn={kmin: %[1]dKB, kmax: %[1]dKB, pmax: 1.0}", c.mark),
		fmt.Sprint("transports.mp.initial-window=", bdp/c.mtu),
	)
	if err != nil {
		return 0, err
	}
	if err := rig.UntilDone(ctx, rig.Scenario.Duration); err != nil {
		return 0, err
	}
	account.Book(rig)
	var last sim.Time
	for _, f := range rig.Flows {
		r := f.Result()
		if !r.Done() {
			return 0, fmt.Errorf("%s, degree %d: %w by %v", c.transport, c.degree, errUnfinished, rig.Scenario.Duration)
		}
		last = max(last, r.Finished)
	}
	return float64(c.degree) * float64(c.bytes) * 8 / last.Seconds() / testbed.Gbps, nil
}

// measurements holds the goodput of each setting, in Gb/s.
type measurements map[setting]float64

// gather averages over repetitions.
func gather(cases []testCase, goodputs []float64) measurements {
	runs := map[setting][]float64{}
	for i, c := range cases {
		runs[c.setting] = append(runs[c.setting], goodputs[i])
	}
	m := measurements{}
	for s, rates := range runs {
		m[s] = testbed.Mean(rates)
	}
	return m
}
