// Package rocestorm reproduces the pause storm of "RDMA over commodity Ethernet at scale": a NIC that sends pauses for
// ever stops all servers, until a watchdog ends it.
package rocestorm

import (
	"cmp"
	_ "embed"

	"github.com/braid-rdma/braid/experiments/experiment"
	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/figures/roce"
	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/experiments/table"
	"github.com/braid-rdma/braid/sim"
)

//go:embed scenario.yaml
var scenarioFile []byte

//go:embed README.md
var readme string

const (
	broken         = 50 * sim.Millisecond  // when the NIC of the server h0 breaks
	nicWatchdog    = 100 * sim.Millisecond // after which a NIC that has stopped no longer pauses
	switchWatchdog = 200 * sim.Millisecond // after which a switch no longer obeys
	settled        = 350 * sim.Millisecond // by then a watchdog has done what it can
	end            = 450 * sim.Millisecond
	bin            = 2 * sim.Millisecond
	priority       = 3
)

// The cases and the measures.
const (
	storm      = "no watchdog"
	byNIC      = "NIC watchdog"
	bySwitch   = "switch watchdog"
	lossy      = "MP without PFC"
	goodput    = "goodput_gbps"
	most       = "most_servers_stopped"
	atEnd      = "servers_stopped_at_end"
	firstAfter = "first_stopped_after_ms"
	lastAfter  = "most_stopped_after_ms"
	stoppedFor = "stopped_for_ms"
)

// Figure is the reproduction.
func Figure() *figure.Figure {
	e := &experiment.Experiment{
		Name: "roce-storm", Title: "Pause storm: one NIC sends pauses for ever",
		Paper: roce.Paper, Section: "§4.3",
		README: readme, Scenario: scenarioFile,
		Cases: []experiment.Case{
			newCase(storm, withRC(0), breaks(0)),
			newCase(byNIC, withRC(0), breaks(nicWatchdog)),
			newCase(bySwitch, withRC(switchWatchdog), breaks(0)),
			newCase(lossy, roce.WithMP, breaks(0)),
		},
		Measures: []experiment.Measure{
			{Name: goodput, Of: (*experiment.Reading).Goodput},
			{Name: most, Of: func(r *experiment.Reading) float64 { n, _ := worst(r); return n }},
			{Name: atEnd, Of: func(r *experiment.Reading) float64 { return stopped(r, len(r.Bins)-1, 1, healthy+1) }},
			{Name: firstAfter, Of: func(r *experiment.Reading) float64 { return since(firstStop(r)) }},
			{Name: lastAfter, Of: func(r *experiment.Reading) float64 { _, at := worst(r); return since(at) }},
			{Name: stoppedFor, Of: stoppedTime},
			{Name: "storms_reported", Of: func(r *experiment.Reading) float64 { return float64(len(r.Storms)) }},
			{Name: "pauses", Of: (*experiment.Reading).Pauses},
		},
		Rows: []experiment.Row{
			roce.Row("healthy servers stopped, "+storm, "of 15", healthy, table.Relative(0), experiment.Mean(storm, atEnd)),
			roce.Row("healthy servers stopped in the end, "+byNIC, "of 15", 0, table.AtMost(0), experiment.Mean(byNIC, atEnd)),
			roce.Row("healthy servers stopped in the end, "+bySwitch, "of 15", 0, table.AtMost(0), experiment.Mean(bySwitch, atEnd)),
			roce.Row("healthy servers ever stopped, "+lossy, "of 15", table.NoNumber(), table.AtMost(0), experiment.Mean(lossy, most)),
			roce.Row("healthy servers stopped for, "+byNIC+" of 100 ms", "ms", table.NoNumber(), table.AtMost(105), experiment.Mean(byNIC, stoppedFor)),
			roce.Row("healthy servers stopped for, "+bySwitch+" of 200 ms", "ms", table.NoNumber(), table.AtMost(205), experiment.Mean(bySwitch, stoppedFor)),
			roce.Row("first server stopped after", "ms", table.NoNumber(), table.Tolerance{}, experiment.Mean(storm, firstAfter)),
			roce.Row("all servers stopped after", "ms", table.NoNumber(), table.Tolerance{}, experiment.Mean(storm, lastAfter)),
		},
		Plots: []experiment.Plot{
			{Name: "spread", Title: "How far the storm spreads", Draw: spread},
			{Name: "watchdogs", Title: "What watchdogs save", Draw: watchdogs},
		},
	}
	return e.Figure()
}

func newCase(name string, change func(*scenario.Scenario), script func(*scenario.Run) error) experiment.Case {
	return experiment.Case{Name: name, Change: change, Script: script, Warm: settled, For: end - settled, Bin: bin, MayFail: true}
}

func withRC(watchdog sim.Time) func(*scenario.Scenario) {
	return func(s *scenario.Scenario) {
		s.Fabric.PFC.Watchdog = watchdog
		s.Transports["rc"].RC.Window = 16384
		delete(s.Transports, "mp") // all transports of a scenario have the same window
	}
}

// breaks lets the NIC of h0 pause its ToR for a time, or for ever; then it takes no packet, and sends none.
func breaks(pausing sim.Time) func(*scenario.Run) error {
	return func(r *scenario.Run) error {
		err := r.Net.PauseStorm(broken, 0, priority, pausing)
		if pausing > 0 {
			err = cmp.Or(err, r.Net.Impair(broken+pausing, "h0-edge0", sim.Both, sim.Impairment{Down: true}))
		}
		return err
	}
}
