package mprdma11a

import (
	"context"
	"fmt"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/figures/testbed"
	"github.com/braid-rdma/braid/sim"
)

// The transports of the scenario.
const (
	paper = "mp"    // MP-RDMA as published
	braid = "braid" // MP-RDMA with what braid adds for networks without PFC
	dcqcn = "dcqcn" // single-path RDMA, on a lossy path
)

// A point is what several runs with different seeds measure together.
type point struct {
	transport  string
	loss       float64
	ackTimeout int // DCQCN: code of the local ACK timeout
}

// A testCase is one run.
type testCase struct {
	point
	seed     uint64
	from, to sim.Time // what is measured
}

// defaultAckTimeout is 67 ms, which perftest and most applications ask of a NIC.
const defaultAckTimeout = 14

// tr is the local ACK timeout of a code.
func tr(code int) sim.Time { return 4096 * sim.Nanosecond << code }

// losses are the loss rates of the sweep; the paper's text mentions 0.5 %, 1 %
// and, in the introduction, 10 %.
func losses(quick bool) []float64 {
	if quick {
		return []float64{0, 0.005, 0.1}
	}
	return []float64{0, 0.005, 0.01, 0.02, 0.05, 0.1}
}

// plan lists the runs. The paper averages 100 runs because a DCQCN connection
// meets a lossy path in 75 % of them; here DCQCN runs on a lossy path and on the
// good one, and the average is weighted, so that a few runs suffice. A lossy
// connection is watched for several local ACK timeouts: they decide about its
// goodput. MP-RDMA is measured after a tenth of a second, when it has left the
// lossy paths; the paper's runs take seconds.
func plan(o figure.Options) []testCase {
	var cases []testCase
	seeds, warm, length := uint64(3), 100*sim.Millisecond, 130*sim.Millisecond
	timeouts, watched := []int{8, 10, 11, 12, 13, 16}, sim.Time(16)
	if o.Quick {
		seeds, warm, length = 1, 12*sim.Millisecond, 18*sim.Millisecond
		timeouts, watched = nil, 4
	}
	add := func(p point, from, to sim.Time) {
		for s := range seeds {
			cases = append(cases, testCase{p, o.Seed + s, from, to})
		}
	}
	for _, loss := range losses(o.Quick) {
		add(point{paper, loss, defaultAckTimeout}, warm, length)
		add(point{braid, loss, defaultAckTimeout}, warm, length)
		if loss > 0 {
			add(point{dcqcn, loss, defaultAckTimeout}, 0, watched*tr(defaultAckTimeout))
		}
	}
	add(point{dcqcn, 0, defaultAckTimeout}, warm, length)
	for _, code := range timeouts {
		add(point{dcqcn, paperLoss, code}, 0, watched*tr(code))
	}
	return cases
}

// paperLoss is the loss for which the paper gives DCQCN's goodput.
const paperLoss = 0.005

// start builds the run of a case.
func (c *testCase) start() (*testbed.Rig, error) {
	overrides := []string{
		fmt.Sprint("seed=", c.seed),
		fmt.Sprint("workload[0].transport=", c.transport),
		fmt.Sprint("faults[0].loss=", c.loss),
		fmt.Sprint("transports.dcqcn.ack-timeout=", c.ackTimeout),
	}
	if c.transport == dcqcn {
		overrides = append(overrides, `faults[0].link=["tor0-path*"]`)
	}
	return testbed.Start(scenarioFile, overrides...)
}

// measure returns the goodput of the connection. One that failed has none from
// then on, as it would have in the paper's testbed.
func (c *testCase) measure(ctx context.Context, account *testbed.Account) (float64, error) {
	rig, err := c.start()
	if err != nil {
		return 0, err
	}
	if err := rig.Until(ctx, c.from); err != nil {
		return 0, err
	}
	goodputs, err := rig.Goodputs(ctx, c.to)
	if err != nil {
		return 0, err
	}
	account.Book(rig)
	return goodputs[0], nil
}

// migrate watches a connection leave the lossy paths.
func migrate(ctx context.Context, o figure.Options, account *testbed.Account) ([]testbed.Sample, error) {
	c := testCase{point: point{paper, 0.01, defaultAckTimeout}, seed: o.Seed}
	rig, err := c.start()
	if err != nil {
		return nil, err
	}
	samples, err := rig.Series(ctx, 20*sim.Millisecond, 500*sim.Microsecond)
	account.Book(rig)
	return samples, err
}
