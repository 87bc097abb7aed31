// Package mprdma04 reproduces figure 4 of MP-RDMA: how the queue of one bottleneck
// oscillates under standard RED and under DCTCP's marking, in packets and in the
// fluid model of section 3.2.1.
//
// The flow through the package:
//
//	scenario.yaml ──> simulate (packets.go): queue, utilisation, windows
//	fluid.Figure4 ──> SolveSelfConsistent: the same of the model
//	both ──> rows (rows.go) and plots (draw.go)
package mprdma04

import (
	"context"
	_ "embed"
	"time"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/fluid"
	"github.com/braid-rdma/braid/sim"
)

//go:embed README.md
var readme string

//go:embed scenario.yaml
var base []byte

// Figure is figure 4 of MP-RDMA.
func Figure() *figure.Figure {
	return &figure.Figure{
		Name:    "mp-rdma-4",
		Title:   "Queue oscillation: standard RED against DCTCP marking",
		Paper:   "MP-RDMA (NSDI '18)",
		Section: "§3.2.1, figure 4",
		README:  readme,
		Run:     run,
	}
}

// The two marking schemes of §3.2.1, thresholds in packets.
var schemes = []scheme{
	{name: "standard RED", marking: fluid.Figure4StandardRED},
	{name: "DCTCP", marking: fluid.Figure4DCTCP},
}

type scheme struct {
	name    string
	marking fluid.Marking
}

// paperMTU makes packets of footnote 4's size: 1220 of them are 100 Gb/s times 100 µs.
const paperMTU = 1024

// extent is how much is simulated.
type extent struct {
	warmUp, duration sim.Time
	mtus             []int // of the sensitivity to the packet size; paperMTU is one of them
}

func extentOf(quick bool) extent {
	if quick {
		return extent{warmUp: 10 * sim.Millisecond, duration: 30 * sim.Millisecond, mtus: []int{paperMTU, 2048}}
	}
	return extent{warmUp: 20 * sim.Millisecond, duration: 200 * sim.Millisecond, mtus: []int{512, paperMTU, 2048, 4096}}
}

// result is one scheme at one packet size, in packets and in the model.
type result struct {
	scheme  scheme
	mtu     int
	packets *trace
	model   *fluid.Result
}

func run(ctx context.Context, o figure.Options) (*figure.Outcome, error) {
	began := time.Now()
	e := extentOf(o.Quick)
	results, err := figure.Map(ctx, o, len(schemes)*len(e.mtus), func(ctx context.Context, i int) (*result, error) {
		r := &result{scheme: schemes[i%len(schemes)], mtu: e.mtus[i/len(schemes)]}
		return r, r.measure(ctx, o.Seed, e)
	})
	if err != nil {
		return nil, err
	}
	out := &figure.Outcome{}
	for _, r := range results {
		out.Hops += r.packets.hops
		out.Events += r.packets.events
		out.Simulated += time.Duration(e.duration / sim.Nanosecond)
	}
	red, dctcp := find(results, schemes[0].name), find(results, schemes[1].name)
	out.Table = rows(red, dctcp)
	out.Plots = []figure.Plot{queuePlot(red, dctcp), sizePlot(results)}
	out.Data = []figure.Data{queueData(red, dctcp), sizeData(results)}
	out.Wall = time.Since(began)
	return out, nil
}

func find(results []*result, name string) *result {
	for _, r := range results {
		if r.scheme.name == name && r.mtu == paperMTU {
			return r
		}
	}
	return nil
}

// measure simulates the packets and solves the model for packets of the same size.
func (r *result) measure(ctx context.Context, seed uint64, e extent) (err error) {
	if r.packets, err = simulate(ctx, seed, r.mtu, r.scheme.marking, e); err != nil {
		return err
	}
	cfg := fluid.Figure4(r.scheme.marking)
	cfg.PacketBytes = r.mtu + linkHeaders
	cfg.SampleEvery = sampleEvery
	r.model, err = fluid.SolveSelfConsistent(cfg)
	return err
}
