// Package mprdma11a reproduces figure 11a of MP-RDMA: the goodput of one connection while three of four paths lose
// packets.
package mprdma11a

import (
	_ "embed"
	"fmt"

	"github.com/braid-rdma/braid/experiments/experiment"
	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/figures/testbed"
	"github.com/braid-rdma/braid/experiments/plot"
	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/experiments/table"
	"github.com/braid-rdma/braid/sim"
)

//go:embed scenario.yaml
var scenarioFile []byte

//go:embed README.md
var readme string

// The transports of the scenario.
const (
	paper = "mp"    // MP-RDMA as published
	braid = "braid" // MP-RDMA with what braid adds for networks without PFC
	dcqcn = "dcqcn" // single-path RDMA, on a lossy path
)

const (
	goodput   = "goodput_gbps"
	migration = "mp, leaving paths that lose 1 %"
)

// What the paper says in §5.1.1.
const (
	publishedMP      = 38   // "~38Gbps excluding header overhead", at every loss rate
	publishedLossy   = 10   // DCQCN on a lossy path at 0.5 %
	publishedAverage = 17.5 // DCQCN's average at 0.5 %
	publishedShare   = 0.25 // of MP-RDMA's goodput that DCQCN has beyond 0.5 %
	paperLoss        = 0.005
)

var (
	// losses are those of the sweep; the paper's text mentions 0.5 %, 1 % and, in the introduction, 10 %.
	losses = []float64{0, paperLoss, 0.01, 0.02, 0.05, 0.1}
	// timeouts are codes of the local ACK timeout; 14, 67 ms, is what perftest and most applications ask of a NIC.
	timeouts = []int{8, 10, 11, 12, 13, defaultTimeout, 16}
)

const defaultTimeout = 14

func ackTimeout(code int) sim.Time { return 4096 * sim.Nanosecond << code }

// Figure is the reproduction of figure 11a.
func Figure() *figure.Figure {
	e := &experiment.Experiment{
		Name: "mp-rdma-11a", Title: "Three of four paths lossy",
		Paper: "MP-RDMA (NSDI '18)", Section: "§5.1.1, figure 11a",
		README: readme, Scenario: scenarioFile,
		Measures: []experiment.Measure{{Name: goodput, Of: (*experiment.Reading).Goodput}},
		Rows:     rows(), Plots: plots(),
		Notes: func(experiment.Results) []string {
			return []string{"Of a 40 Gb/s link headers leave 37.1 Gb/s to MP-RDMA with packets of 1448 B, and 37.0 Gb/s to DCQCN with 1024 B."}
		},
	}
	for _, loss := range losses {
		full := loss != 0 && loss != paperLoss && loss != 0.1
		for _, transport := range []string{paper, braid, dcqcn} {
			c := newCase(transport, loss, defaultTimeout)
			c.Full = full
			e.Cases = append(e.Cases, c)
		}
	}
	for _, code := range timeouts {
		if c := newCase(dcqcn, paperLoss, code); code != defaultTimeout {
			c.Full = true
			e.Cases = append(e.Cases, c)
		}
	}
	moves := newCase(paper, 0.01, defaultTimeout)
	moves.Name, moves.Seeds, moves.Warm, moves.QuickWarm, moves.For, moves.Quick = migration, 1, 0, 0, 20*sim.Millisecond, 0
	moves.Probes = testbed.WatchPaths(500 * sim.Microsecond)
	e.Cases = append(e.Cases, moves)
	return e.Figure()
}

func name(transport string, loss float64, code int) string {
	text := fmt.Sprintf("%s, %g %% loss", transport, 100*loss)
	if code != defaultTimeout {
		text += fmt.Sprint(", ACK timeout ", code)
	}
	return text
}

// newCase is a connection on lossy paths. The paper averages 100 runs because a DCQCN connection meets a lossy path in
// 75 % of them; here DCQCN runs on a lossy path and on the good one, and the average is weighted, so that a few runs
// suffice. A lossy connection is watched for several local ACK timeouts: they decide about its goodput. MP-RDMA is
// measured after a tenth of a second, when it has left the lossy paths; the paper's runs take seconds.
func newCase(transport string, loss float64, code int) experiment.Case {
	c := experiment.Case{
		Name: name(transport, loss, code), Seeds: 3,
		Warm: 100 * sim.Millisecond, For: 30 * sim.Millisecond, QuickWarm: 12 * sim.Millisecond, Quick: 6 * sim.Millisecond,
		Change: func(s *scenario.Scenario) {
			s.Workload[0].Transport = transport
			s.Faults[0].Loss = loss
			s.Transports[dcqcn].AckTimeout = code
			if transport == dcqcn {
				s.Faults[0].Link = scenario.Names{"tor0-path*"}
			}
		},
	}
	if transport == dcqcn && loss > 0 {
		c.Warm, c.QuickWarm, c.For, c.Quick = 0, 0, 16*ackTimeout(code), 4*ackTimeout(code)
	}
	return c
}

// of is the goodput of a transport at a loss.
func of(transport string, loss float64) func(experiment.Results) float64 {
	return experiment.Mean(name(transport, loss, defaultTimeout), goodput)
}

// average is what the paper plots of DCQCN: "75% probability to transmit data on lossy paths" (§5.1.1).
func average(loss float64, code int) func(experiment.Results) float64 {
	const lossy = 0.75
	return func(r experiment.Results) float64 {
		return (1-lossy)*r.Mean(name(dcqcn, 0, defaultTimeout), goodput) + lossy*r.Mean(name(dcqcn, loss, code), goodput)
	}
}

// rows compares with the paper. The tolerances are those for throughput, 10 %; "near zero" is taken as a twentieth of
// the link.
func rows() (rows []experiment.Row) {
	tenth := table.Relative(0.1)
	at := func(loss float64) string { return fmt.Sprintf(" at %g %% loss", 100*loss) }
	for _, loss := range []float64{paperLoss, 0.01, 0.1} {
		rows = append(rows,
			experiment.Row{Quantity: "goodput of MP-RDMA" + at(loss), Unit: "Gb/s", Published: publishedMP, Tolerance: tenth, Value: of(paper, loss)},
			experiment.Row{Quantity: "goodput of MP-RDMA with braid's options" + at(loss), Unit: "Gb/s", Published: publishedMP, Tolerance: tenth, Value: of(braid, loss), Note: "not in the paper"})
	}
	const unknown = "depends on the NIC's timeout, which the paper does not give"
	rows = append(rows,
		experiment.Row{Quantity: "goodput of DCQCN on a lossy path at 0.5 % loss", Unit: "Gb/s", Published: publishedLossy, Tolerance: tenth, Value: of(dcqcn, paperLoss), Note: unknown},
		experiment.Row{Quantity: "average goodput of DCQCN at 0.5 % loss", Unit: "Gb/s", Published: publishedAverage, Tolerance: tenth, Value: average(paperLoss, defaultTimeout), Note: unknown})
	for _, loss := range losses[2:] {
		share := func(r experiment.Results) float64 { return average(loss, defaultTimeout)(r) / of(paper, loss)(r) }
		rows = append(rows, experiment.Row{Quantity: "goodput of DCQCN over MP-RDMA" + at(loss), Published: publishedShare, Tolerance: tenth, Value: share})
		if loss > 0.01 {
			rows = append(rows, experiment.Row{Quantity: "goodput of DCQCN on a lossy path" + at(loss), Unit: "Gb/s", Published: table.NoNumber(), Tolerance: table.AtMost(2), Value: of(dcqcn, loss), Note: `"near zero" in the paper`})
		}
	}
	return rows
}

func plots() []experiment.Plot {
	lines := []experiment.SweepLine{{Name: "MP-RDMA"}, {Name: "MP-RDMA, braid's options"}, {Name: "DCQCN, average"}, {Name: "DCQCN on a lossy path"}}
	for _, loss := range losses {
		lines[0].Add(100*loss, of(paper, loss))
		lines[1].Add(100*loss, of(braid, loss))
		lines[2].Add(100*loss, average(loss, defaultTimeout))
		lines[3].Add(100*loss, of(dcqcn, loss))
	}
	byTimeout := experiment.SweepLine{Name: "DCQCN, average"}
	for _, code := range timeouts {
		byTimeout.Add(ackTimeout(code).Seconds()*1e3, average(paperLoss, code))
	}
	axis := plot.Axis{Label: "goodput", Unit: "Gb/s", Max: 40}
	return []experiment.Plot{
		{Name: "goodput", Title: "Goodput against loss on paths 1 to 3", Draw: experiment.Sweep{
			Title: "Goodput against loss on paths 1 to 3", X: plot.Axis{Label: "loss rate of paths 1 to 3", Unit: "%"}, Y: axis, Lines: lines,
			References: []plot.Reference{
				{Name: "published, MP-RDMA", Kind: plot.AtY, Y: publishedMP},
				{Name: "published, DCQCN", Kind: plot.AtPoint, X: 100 * paperLoss, Y: publishedAverage},
				{Name: "published, DCQCN", Kind: plot.AtPoint, X: 100 * paperLoss, Y: publishedLossy},
			},
		}.Draw},
		{Name: "migration", Title: "MP-RDMA leaves the lossy paths", Draw: experiment.Traces{
			Title: "MP-RDMA leaves the paths that lose 1 %", Case: migration, Lines: testbed.TracePaths(),
			X: plot.Axis{Label: "time since the loss began", Unit: "ms"}, Y: plot.Axis{Label: "sent to the path", Unit: "Gb/s", Max: 45},
		}.Draw},
		{Name: "timeout", Title: "Sensitivity: DCQCN at 0.5 % loss and the NIC's timeout", Draw: experiment.Sweep{
			Title: "DCQCN at 0.5 % loss and the NIC's timeout", X: plot.Axis{Label: "local ACK timeout", Unit: "ms", Log: true}, Y: axis,
			Lines: []experiment.SweepLine{byTimeout}, References: []plot.Reference{{Name: "published", Kind: plot.AtY, Y: publishedAverage}},
		}.Draw},
	}
}
