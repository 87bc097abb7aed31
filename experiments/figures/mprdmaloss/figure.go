// Package mprdmaloss reproduces what MP-RDMA's motivation says of single-path RDMA: one lost packet in a thousand takes
// two fifths of the throughput.
package mprdmaloss

import (
	_ "embed"
	"fmt"

	"github.com/braid-rdma/braid/experiments/experiment"
	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/plot"
	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/experiments/table"
	"github.com/braid-rdma/braid/sim"
)

//go:embed scenario.yaml
var scenarioFile []byte

//go:embed README.md
var readme string

// The lines: a transport and what is lost of it.
const (
	single   = "go-back-N"
	dataOnly = "go-back-N, data alone lost"
	paper    = "MP-RDMA"
	braid    = "MP-RDMA, braid's options"
)

var (
	lines      = []string{single, dataOnly, paper, braid}
	transports = map[string]string{single: "rc", dataOnly: "rc", paper: "mp", braid: "braid"}
	losses     = []float64{0, 0.0001, paperLoss, 0.005, highest}
	timeouts   = []int{8, 10, 12, defaultTimeout, 16} // codes of the local ACK timeout
)

const (
	paperLoss      = 0.001
	highest        = 0.01
	published      = 0.6 // of the throughput without loss, at most
	defaultTimeout = 14
	goodput        = "goodput_gbps"
)

// Figure is the reproduction.
func Figure() *figure.Figure {
	e := &experiment.Experiment{
		Name: "mp-rdma-loss", Title: "One packet in a thousand is lost",
		Paper: "MP-RDMA (NSDI '18)", Section: "§2.2",
		README: readme, Scenario: scenarioFile,
		Measures: []experiment.Measure{
			{Name: goodput, Of: (*experiment.Reading).Goodput},
			{Name: "retransmitted", Of: func(r *experiment.Reading) float64 { return float64(r.Counts.Retransmitted) }},
			{Name: "timeouts", Of: func(r *experiment.Reading) float64 { return float64(r.Counts.Timeouts) }},
		},
		Rows: rows(), Plots: plots(),
	}
	for _, line := range lines {
		for _, loss := range losses {
			e.Cases = append(e.Cases, newCase(line, loss, defaultTimeout))
		}
	}
	for _, code := range timeouts {
		if code != defaultTimeout {
			e.Cases = append(e.Cases, newCase(single, paperLoss, code))
		}
	}
	return e.Figure()
}

func name(line string, loss float64, code int) string {
	text := fmt.Sprintf("%s, %g %% loss", line, 100*loss)
	if code != defaultTimeout {
		text += fmt.Sprint(", ACK timeout ", code)
	}
	return text
}

// newCase is a connection that loses packets. Go-back-N is watched for a second, because what costs it most, a timeout, is
// rare.
func newCase(line string, loss float64, code int) experiment.Case {
	c := experiment.Case{
		Name: name(line, loss, code), Full: loss != 0 && loss != paperLoss && (loss != highest || transports[line] == "rc") || code != defaultTimeout,
		For: sim.Second, Quick: 100 * sim.Millisecond,
		Change: func(s *scenario.Scenario) {
			s.Workload[0].Transport = transports[line]
			s.Transports["rc"].AckTimeout = code
			s.Faults[0].Loss = loss
			if line == dataOnly {
				s.Faults[0].Direction = sim.Forth
			}
		},
	}
	if loss == paperLoss && code == defaultTimeout {
		c.Seeds = 5
	}
	if transports[line] != "rc" || loss == 0 {
		c.For, c.Quick = 100*sim.Millisecond, 20*sim.Millisecond
	}
	return c
}

// share is the goodput of a line at a loss, of that without.
func share(line string, loss float64, code int) func(experiment.Results) float64 {
	return experiment.Ratio(goodput, name(line, loss, code), name(line, 0, defaultTimeout))
}

// rows compares with the paper's one number. That MP-RDMA keeps nine tenths where all paths lose is a bound of our own.
func rows() []experiment.Row {
	at := func(line string) string { return "throughput of " + line + " at 0.1 % loss, of that without" }
	return []experiment.Row{
		{Quantity: at(single), Published: published, Tolerance: table.AtMost(published), Value: share(single, paperLoss, defaultTimeout), Note: "the paper: below about 60 %"},
		{Quantity: at(dataOnly), Published: published, Tolerance: table.AtMost(published), Value: share(dataOnly, paperLoss, defaultTimeout), Note: "a second reading: acknowledgements go another way, and none is lost"},
		{Quantity: at(paper), Published: table.NoNumber(), Value: share(paper, paperLoss, defaultTimeout), Note: "all paths lose"},
		{Quantity: at(braid), Published: table.NoNumber(), Tolerance: table.AtLeast(0.9), Value: share(braid, paperLoss, defaultTimeout), Note: "all paths lose"},
	}
}

func plots() []experiment.Plot {
	axis := plot.Axis{Label: "throughput, of that without loss", Max: 1}
	byLoss := experiment.Sweep{
		Title: "Throughput against loss", X: plot.Axis{Label: "loss rate", Unit: "%", Log: true}, Y: axis,
		References: []plot.Reference{{Name: "published", Kind: plot.AtPoint, X: 100 * paperLoss, Y: published}},
	}
	for _, line := range lines {
		l := experiment.SweepLine{Name: line}
		for _, loss := range losses[1:] {
			l.Add(100*loss, share(line, loss, defaultTimeout))
		}
		byLoss.Lines = append(byLoss.Lines, l)
	}
	byTimeout := experiment.SweepLine{Name: single}
	for _, code := range timeouts {
		byTimeout.Add((4096*sim.Nanosecond<<code).Seconds()*1e3, share(single, paperLoss, code))
	}
	return []experiment.Plot{
		{Name: "loss", Title: "Throughput against loss", Draw: byLoss.Draw},
		{Name: "timeout", Title: "Sensitivity: the NIC's timeout", Draw: experiment.Sweep{
			Title: "Go-back-N at 0.1 % loss and the NIC's timeout", X: plot.Axis{Label: "local ACK timeout", Unit: "ms", Log: true}, Y: axis,
			Lines: []experiment.SweepLine{byTimeout}, References: []plot.Reference{{Name: "published", Kind: plot.AtY, Y: published}},
		}.Draw},
	}
}
