// Package rocedeadlock reproduces the deadlock of "RDMA over commodity Ethernet at scale": packets for dead servers are
// flooded, and four lossless switches wait for each other.
package rocedeadlock

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"

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

// What happens when. In the paper minutes lie between the first two.
const (
	die     = 5 * sim.Millisecond
	expire  = 6 * sim.Millisecond
	restart = 15 * sim.Millisecond
	up      = 35 * sim.Millisecond // by then all connections have given up
	again   = 40 * sim.Millisecond // as in the scenario
	end     = 50 * sim.Millisecond
)

// The cases and the measures.
const (
	flooding  = "flooding"
	restarted = "servers restarted"
	discarded = "not flooded"
	lossy     = "MP without PFC"

	goodput    = "goodput_gbps"
	deadlocked = "deadlock"
	circle     = "switches_in_circle"
)

// Figure is the reproduction.
func Figure() *figure.Figure {
	e := &experiment.Experiment{
		Name: "roce-deadlock", Title: "Deadlock: packets for dead servers are flooded",
		Paper: roce.Paper, Section: "§4.2",
		README: readme, Scenario: scenarioFile,
		Cases: []experiment.Case{
			newCase(flooding, withRC, dead(sim.Flood)),
			newCase(restarted, withRC, func(r *scenario.Run) error { return cmp.Or(dead(sim.Flood)(r), restartServers(r)) }),
			newCase(discarded, withRC, dead(sim.Discard)),
			newCase(lossy, roce.WithMP, dead(sim.Flood)),
		},
		Measures: []experiment.Measure{
			{Name: goodput, Of: (*experiment.Reading).Goodput},
			{Name: deadlocked, Of: func(r *experiment.Reading) float64 { return float64(min(1, len(r.Deadlock))) }},
			{Name: circle, Of: func(r *experiment.Reading) float64 { return float64(len(r.Deadlock)) }},
			{Name: "broken_connections", Of: broken},
			{Name: "pauses", Of: (*experiment.Reading).Pauses},
			{Name: "dropped", Of: (*experiment.Reading).Dropped},
		},
		Rows: []experiment.Row{
			share(flooding, table.AtLeast(0.5)), share(restarted, table.AtLeast(0.5)), share(discarded, table.AtMost(0)), share(lossy, table.AtMost(0)),
			roce.Row("switches in the circle", "", 4, table.Relative(0), experiment.Most(flooding, circle)),
			roce.Row("least goodput, "+flooding, "Gb/s", 0, table.AtMost(0), experiment.Least(flooding, goodput)),
			roce.Row("least goodput, "+restarted, "Gb/s", 0, table.AtMost(0), experiment.Least(restarted, goodput)),
			roce.Row("goodput, "+discarded, "Gb/s", table.NoNumber(), table.AtLeast(40), experiment.Mean(discarded, goodput)),
			roce.Row("goodput, "+lossy, "Gb/s", table.NoNumber(), table.AtLeast(40), experiment.Mean(lossy, goodput)),
		},
		Notes: notes,
	}
	marker := func(name string, at sim.Time) experiment.Marker {
		return experiment.Marker{Name: name, Ms: at.Seconds() * 1000}
	}
	e.Plots = []experiment.Plot{{Name: "over-time", Title: "Goodput over time", Draw: experiment.OverTime(
		"Servers die, are forgotten, and the others restart", []string{flooding, restarted, discarded, lossy},
		marker("S2, S3 die", die), marker("MAC entries expire", expire), marker("restart", restart), marker("new connections", again),
	)}}
	return e.Figure()
}

func newCase(name string, change func(*scenario.Scenario), script func(*scenario.Run) error) experiment.Case {
	return experiment.Case{Name: name, Change: change, Script: script, Warm: again, For: end - again, Bin: sim.Millisecond, Seeds: 5, MayFail: true}
}

// withRC is what the paper had: DCQCN and PFC, and NICs that know no window, so that a dead server is sent to all the
// time.
func withRC(s *scenario.Scenario) {
	s.Transports["rc"].RC.Window = 16384
	delete(s.Transports, "mp") // all transports of a scenario have the same window
}

// dead lets two servers die, and their ToRs forget them some time later.
func dead(then sim.Unknown) func(*scenario.Run) error {
	return func(r *scenario.Run) error {
		return cmp.Or(
			r.Net.Impair(die, "S2-T0", sim.Both, sim.Impairment{Down: true}), r.Net.Forget(expire, "T0", 1, then),
			r.Net.Impair(die, "S3-T1", sim.Both, sim.Impairment{Down: true}), r.Net.Forget(expire, "T1", 2, then),
		)
	}
}

// restartServers takes the links of the other servers down for a while.
func restartServers(r *scenario.Run) (err error) {
	for _, link := range []string{"S1-T0", "S6-T0", "S4-T1", "S5-T1", "S7-T1"} {
		err = cmp.Or(err,
			r.Net.Impair(restart, link, sim.Both, sim.Impairment{Down: true, Pauses: true}),
			r.Net.Impair(up, link, sim.Both, sim.Impairment{}))
	}
	return err
}

// broken is how many connections have given up.
func broken(r *experiment.Reading) (n float64) {
	for i := range r.Flows {
		if r.Flows[i].Err != nil {
			n++
		}
	}
	return n
}

func share(name string, t table.Tolerance) experiment.Row {
	return roce.Row("share of runs in deadlock, "+name, "", table.NoNumber(), t, experiment.Mean(name, deadlocked))
}

// notes names the switches of each circle: each waits for the next.
func notes(r experiment.Results) (all []string) {
	for _, name := range []string{flooding, restarted} {
		for _, reading := range r.Of(name) {
			if reading.Deadlock != nil {
				all = append(all, fmt.Sprintf("%s, seed %d: %s", name, reading.Seed, around(reading)))
			}
		}
	}
	return all
}

// around is the circle of a deadlock, switch by switch.
func around(r *experiment.Reading) (text string) {
	for n, link := range r.Deadlock {
		l := r.Links[slices.IndexFunc(r.Links, func(l sim.LinkResult) bool { return l.Name == link })]
		if n == 0 {
			text = l.From
		}
		text += " waits for " + l.To
		if n+1 < len(r.Deadlock) {
			text += ", which"
		}
	}
	return text
}
