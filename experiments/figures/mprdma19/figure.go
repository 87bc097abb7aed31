// Package mprdma19 reproduces figure 19 of MP-RDMA: what synchronise operations
// cost, for messages of 512 KB and 32 KB, against DCQCN and against stop-and-wait.
//
//	Figure.Run ──> plan: every combination of method, message, share and seed
//	           ──> simulate each (simulate.go) ──> mean over seeds (summary.go)
//	           ──> plots (outcome.go) and the table (rows.go)
package mprdma19

import (
	"context"
	_ "embed" // the README
	"time"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/sim"
)

//go:embed README.md
var readme string

// Figure is figure 19 of MP-RDMA.
func Figure() *figure.Figure {
	return &figure.Figure{
		Name:    "mp-rdma-19",
		Title:   "The cost of synchronise operations",
		Paper:   "MP-RDMA (NSDI '18)",
		Section: "§5.2.5, figure 19",
		README:  readme,
		Run:     run,
	}
}

// method is how the five connections are carried.
type method int

const (
	multiPath   method = iota // MP-RDMA as published, α = 1
	stopAndWait               // MP-RDMA; a synchronise operation waits for all before it
	singlePath                // DCQCN over RC, where order comes for free
)

const (
	smallMessage = 32 << 10
	largeMessage = 512 << 10
	// noCap is the largest window that the transport knows; the paper names none.
	noCap = 4096
	// bandwidthDelay is one bandwidth-delay product in packets: 60 KB (§5) of 1024 B.
	bandwidthDelay = 60
)

// setting is one point of the figure; it is run with several seeds.
type setting struct {
	method  method
	message int     // bytes
	share   float64 // of the messages that carry the synchronise flag
	cap     int     // packets, of the congestion window
}

// scale is how much of the experiment is run.
type scale struct {
	shares []float64
	caps   []int // of the sensitivity plot, beside noCap
	multi  effort
	single effort // DCQCN: one hash decides a run, and its rates settle slowly
}

// effort is how often and how long a setting is simulated.
type effort struct {
	seeds            int
	warmUp, measured sim.Time
}

func scaleOf(o figure.Options) scale {
	const ms = sim.Millisecond
	if o.Quick {
		return scale{
			shares: []float64{0, 0.6, 0.8, 1}, caps: []int{bandwidthDelay},
			multi:  effort{seeds: 1, warmUp: ms / 2, measured: ms},
			single: effort{seeds: 5, warmUp: 3 * ms, measured: ms / 2},
		}
	}
	return scale{
		shares: []float64{0, 0.2, 0.4, 0.6, 0.8, 1}, caps: []int{40, 48, bandwidthDelay, 80, 120},
		multi:  effort{seeds: 3, warmUp: 2 * ms, measured: 8 * ms},
		single: effort{seeds: 24, warmUp: 10 * ms, measured: 10 * ms},
	}
}

// settings lists the points of the figure and of its sensitivity plot.
func (s scale) settings() []setting {
	points := []setting{dcqcn}
	for _, message := range []int{largeMessage, smallMessage} {
		for _, m := range []method{multiPath, stopAndWait} {
			for _, share := range s.shares {
				points = append(points, setting{m, message, share, noCap})
			}
		}
	}
	for _, limit := range s.caps {
		for _, share := range s.shares {
			points = append(points, setting{multiPath, smallMessage, share, limit})
		}
	}
	return points
}

// dcqcn is the baseline. Its message size changes nothing but how finely the
// acknowledged bytes are counted.
var dcqcn = setting{method: singlePath, message: smallMessage, cap: noCap}

func (s scale) effortOf(p setting) effort {
	if p.method == singlePath {
		return s.single
	}
	return s.multi
}

func run(ctx context.Context, o figure.Options) (*figure.Outcome, error) {
	began := time.Now()
	size := scaleOf(o)
	found, err := measure(ctx, o, size)
	if err != nil {
		return nil, err
	}
	outcome := found.outcome(size)
	outcome.Wall = time.Since(began)
	return outcome, nil
}

// measure simulates every setting with every seed.
func measure(ctx context.Context, o figure.Options, size scale) (*summary, error) {
	type job struct {
		setting
		seed uint64
	}
	points := size.settings()
	var jobs []job
	for _, p := range points {
		for seed := range size.effortOf(p).seeds {
			jobs = append(jobs, job{p, o.Seed + uint64(seed)})
		}
	}
	results, err := figure.Map(ctx, o, len(jobs), func(ctx context.Context, i int) (result, error) {
		return simulate(ctx, jobs[i].setting, size.effortOf(jobs[i].setting), jobs[i].seed)
	})
	if err != nil {
		return nil, err
	}
	found := newSummary(points)
	for i, r := range results {
		found.add(jobs[i].setting, r)
	}
	return found, nil
}
