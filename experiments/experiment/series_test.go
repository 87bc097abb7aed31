package experiment_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/braid-rdma/braid/experiments/experiment"
	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/plot"
	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/sim/workload"
)

// read runs one case on the tiny network and hands over its readings.
func read(t *testing.T, c experiment.Case, o figure.Options) (readings []*experiment.Reading) {
	t.Helper()
	c.Name = "all"
	e := &experiment.Experiment{Name: "tiny", Scenario: []byte(tiny), Cases: []experiment.Case{c}}
	e.Notes = func(r experiment.Results) []string {
		readings = r.Of("all")
		return nil
	}
	run(t, e, o)
	return readings
}

// Probes are read at their instants, and rates are what was sent between two of them.
func TestProbes(t *testing.T) {
	const us = sim.Microsecond
	r := read(t, experiment.Case{Warm: 150 * us, For: 100 * us, Bin: 70 * us, Probes: func(run *scenario.Run, r *experiment.Reading) []experiment.Probe {
		now := func() float64 { return run.Net.Now().Seconds() * 1e6 }
		return []experiment.Probe{
			{Name: "sent", Of: experiment.Sent(run, "a", "w"), Every: 50 * us},
			{Name: "once", Of: now, From: r.From + 33*us},
			{Name: "last", Of: now, From: 1 * us, Every: 10 * us, Last: true},
			{Name: "mean", Of: experiment.RunningMean(now), From: 10 * us, Every: 100 * us, Last: true},
			{Name: "no link", Of: experiment.Sent(run, "a", "b"), From: us},
		}
	}}, figure.Options{})[0]
	for name, want := range map[string][]float64{"once": {183}, "last": {241}, "mean": {(10 + 110 + 210) / 3.0}} {
		if got := r.Series[name].Values; !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if got := r.Series["no link"].Values[0]; !math.IsNaN(got) {
		t.Errorf("what is no link has sent %v bytes", got)
	}
	rates := r.Series["sent"].Rates()
	if want := []sim.Time{50 * us, 100 * us, 150 * us, 200 * us, 250 * us}; !slices.Equal(rates.Times, want) {
		t.Fatalf("rates at %v, want %v", rates.Times, want)
	}
	for _, rate := range rates.Between(50*us, 250*us) {
		if rate < 9.5 || rate > 10.5 {
			t.Errorf("%v Gb/s on a full link of 10", rate)
		}
	}
	if len(r.Bins) != 3 || r.From != 150*us || r.To != 250*us {
		t.Errorf("%d bins; measured from %v to %v", len(r.Bins), r.From, r.To)
	}
}

// A run of flows that end is as long as they take; one that is too short for them is an error, unless the
// case allows it.
func TestUntilDone(t *testing.T) {
	c := experiment.Case{Name: "all", For: sim.Second, UntilDone: true, Change: func(s *scenario.Scenario) {
		scenario.Configuration[workload.Pairs](s.Workload[0]).Bytes = 3_000_000
	}}
	r := read(t, c, figure.Options{})[0]
	if !r.Flows[0].Done() || r.To != 3*sim.Millisecond {
		t.Errorf("done %v, up to %v; want 3 MB at 10 Gb/s to end within 3 ms", r.Flows[0].Done(), r.To)
	}
	c.For = sim.Millisecond
	e := &experiment.Experiment{Name: "tiny", Scenario: []byte(tiny), Cases: []experiment.Case{c}}
	if _, err := e.Figure().Run(t.Context(), figure.Options{Seed: 7}); err == nil || !strings.Contains(err.Error(), "all, seed 7: 1 of 1 flows have not ended by 1.000 ms") {
		t.Errorf("got %v, want an error", err)
	}
	c.MayOutlast = true
	if r := read(t, c, figure.Options{})[0]; r.Flows[0].Done() || r.To != sim.Millisecond {
		t.Errorf("done %v, up to %v; want a part in 1 ms", r.Flows[0].Done(), r.To)
	}
}

// A quick run has its own warm-up, seeds and changes.
func TestQuickDiffers(t *testing.T) {
	c := experiment.Case{
		Warm: sim.Millisecond, For: 2 * sim.Millisecond, Seeds: 3, Bin: sim.Millisecond,
		QuickBin: 100 * sim.Microsecond, QuickWarm: 100 * sim.Microsecond, Quick: 300 * sim.Microsecond, QuickSeeds: 2,
		QuickChange: func(s *scenario.Scenario) { s.Fabric.MTU = 512 },
	}
	for _, want := range []struct {
		quick    bool
		runs     int
		from, to sim.Time
		mtu      int
		bins     int
	}{{true, 2, 100 * sim.Microsecond, 400 * sim.Microsecond, 512, 4}, {false, 3, sim.Millisecond, 3 * sim.Millisecond, 1024, 3}} {
		all := read(t, c, figure.Options{Quick: want.quick})
		r := all[0]
		if len(all) != want.runs || r.From != want.from || r.To != want.to || r.Scenario.Fabric.MTU != want.mtu || len(r.Bins) != want.bins {
			t.Errorf("quick %v: %d runs from %v to %v, MTU %d, %d bins; want %+v", want.quick, len(all), r.From, r.To, r.Scenario.Fabric.MTU, len(r.Bins), want)
		}
	}
}

// Counts are those of the time that is measured.
func TestCounts(t *testing.T) {
	c := experiment.Case{For: 2 * sim.Millisecond, Change: lossy}
	all := read(t, c, figure.Options{})[0].Counts
	c.Warm, c.For = sim.Millisecond, sim.Millisecond
	half := read(t, c, figure.Options{})[0].Counts
	if all.Packets < half.Packets*3/2 || half.Packets == 0 || all.Retransmitted <= half.Retransmitted || half.Naks == 0 {
		t.Errorf("counted %+v in 2 ms, %+v in the second of them", all, half)
	}
}

func TestDegrees(t *testing.T) {
	d := experiment.Degrees{990, 0, 8, 1}.Plus(experiment.Degrees{0, 0, 0, 0, 0, 1})
	for fraction, want := range map[float64]int{0.5: 0, 0.99: 0, 0.991: 2, 0.998: 2, 0.999: 3, 1: 5} {
		if got := d.Quantile(fraction); got != want {
			t.Errorf("quantile %v is %d, want %d", fraction, got, want)
		}
	}
	if got := (experiment.Degrees{}).Quantile(0.5); got != 0 || d.Packets() != 1000 {
		t.Errorf("of nothing %d, of %d packets", got, d.Packets())
	}
}

// Lines leave out what was not run.
func TestLines(t *testing.T) {
	e := newTiny()
	line, one, none := experiment.SweepLine{Name: "time"}, experiment.SweepLine{}, experiment.SweepLine{}
	line.AddMean(1, "clean", "ms")
	line.AddMean(2, "long", "ms")
	line.AddMean(3, "lossy", "goodput_gbps")
	one.AddMean(1, "clean", "ms")
	none.Add(1, experiment.Mean("long", "ms"))
	e.Cases[1].QuickSeeds = 2
	e.Plots = []experiment.Plot{
		{Name: "sweep", Draw: experiment.Sweep{Lines: []experiment.SweepLine{line}}.Draw},
		{Name: "one", Draw: experiment.Sweep{Lines: []experiment.SweepLine{one}}.Draw},
		{Name: "none", Draw: experiment.Sweep{Lines: []experiment.SweepLine{none}}.Draw},
		{Name: "traces", Draw: experiment.Traces{Case: "clean", Together: 2, Lines: []experiment.Trace{{Of: experiment.FlowGoodput(0)}}}.Draw},
		{Name: "no traces", Draw: experiment.Traces{Case: "long", Lines: []experiment.Trace{{Of: experiment.FlowGoodput(0)}}}.Draw},
	}
	plots := run(t, e, figure.Options{Quick: true}).Plots
	if len(plots) != 2 {
		t.Fatalf("%d plots, want 2", len(plots))
	}
	swept := plots[0].Chart.(plot.Line).Series
	if len(swept) != 1 || len(swept[0].Points) != 2 || swept[0].Points[0] != (plot.Point{X: 1, Y: 0.3}) || len(swept[0].Band) != 1 {
		t.Fatalf("sweep %+v, want a point of each case that was run, and a band where there are two runs", swept)
	}
	if b, p := swept[0].Band[0], swept[0].Points[1]; b.X != 3 || b.Low >= p.Y || b.High <= p.Y {
		t.Errorf("band %+v of the mean %v", b, p.Y)
	}
	got := plots[1].Chart.(plot.Line).Series[0].Points
	if len(got) != 2 || got[1].X != 0.4 || got[1].Y < 8 {
		t.Errorf("traces %+v, want two points of two bins each", got)
	}
}
