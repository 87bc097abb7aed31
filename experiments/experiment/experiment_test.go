package experiment_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/braid-rdma/braid/experiments/experiment"
	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/experiments/table"
	"github.com/braid-rdma/braid/sim"
)

// tiny is two hosts at a switch, and no more.
const tiny = `
topology:
  kind: graph
  nodes: [{name: a, kind: host, group: 0}, {name: b, kind: host, group: 1}, {name: w, kind: switch}]
  links: [{from: a, to: w, rate: 10Gbps, delay: 1us}, {from: w, to: b, rate: 10Gbps, delay: 1us}]
fabric: {mtu: 1024}
transport: {kind: rc, rate: none}
workload: [{kind: pairs, pairs: [[0, 1]], message: 16KB}]
`

// lossy loses packets by the dice, so that seeds differ.
func lossy(s *scenario.Scenario) {
	s.Faults = append(s.Faults, &scenario.Fault{Link: scenario.Names{"w-b"}, Impairment: sim.Impairment{Loss: 0.01}})
}

// newTiny is an experiment whose parts all take part.
func newTiny() *experiment.Experiment {
	return &experiment.Experiment{
		Name: "tiny", Title: "Tiny", Paper: "none", Section: "none", Scenario: []byte(tiny),
		Cases: []experiment.Case{
			{Name: "clean", Warm: 100 * sim.Microsecond, For: sim.Millisecond, Quick: 300 * sim.Microsecond, Bin: 100 * sim.Microsecond},
			{Name: "lossy", For: sim.Millisecond, Seeds: 3, Change: lossy},
			{Name: "long", For: 2 * sim.Millisecond, Full: true},
		},
		Measures: []experiment.Measure{
			{Name: "goodput_gbps", Of: (*experiment.Reading).Goodput},
			{Name: "ms", Of: func(r *experiment.Reading) float64 { return (r.To - r.From).Seconds() * 1000 }},
			{Name: "lost", Of: func(r *experiment.Reading) float64 { return float64(r.Link("w", "b").Lost) }},
		},
		Rows: []experiment.Row{
			{Quantity: "goodput, clean", Unit: "Gb/s", Published: 9, Tolerance: table.Relative(0.1), Value: experiment.Mean("clean", "goodput_gbps")},
			{Quantity: "time, long", Unit: "ms", Published: table.NoNumber(), Value: experiment.Mean("long", "ms")},
			{Quantity: "what loss leaves", Published: table.NoNumber(), Value: experiment.Ratio("goodput_gbps", "lossy", "clean")},
		},
		Plots: []experiment.Plot{
			{Name: "time", Title: "Time", Draw: experiment.OverTime("Time", []string{"clean", "long"}, experiment.Marker{Name: "now", Ms: 0.5})},
			{Name: "long", Title: "Long", Draw: experiment.Grouped{
				Title: "Long", Groups: []string{"long"}, Series: []experiment.GroupedSeries{{Name: "all", Cases: []string{"long"}}},
			}.Bars("goodput_gbps")},
		},
		Notes: func(r experiment.Results) []string {
			if len(r.Of("long")) == 0 {
				return []string{"without the long case"}
			}
			return nil
		},
	}
}

func run(t *testing.T, e *experiment.Experiment, o figure.Options) *figure.Outcome {
	t.Helper()
	o.Seed = 7
	outcome, err := e.Figure().Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return outcome
}

// data finds a table of an outcome.
func data(t *testing.T, o *figure.Outcome, name string) figure.Data {
	t.Helper()
	i := slices.IndexFunc(o.Data, func(d figure.Data) bool { return d.Name == name })
	if i < 0 {
		t.Fatalf("there is no table %s", name)
	}
	return o.Data[i]
}

// measured is our number of a row; NaN if there is no such row.
func measured(o *figure.Outcome, quantity string) float64 {
	for _, row := range o.Table {
		if row.Quantity == quantity {
			return row.Measured
		}
	}
	return math.NaN()
}

func TestCasesAndSeeds(t *testing.T) {
	o := run(t, newTiny(), figure.Options{})
	runs := data(t, o, "runs")
	if want := []string{"clean", "lossy", "lossy", "lossy", "long"}; !slices.Equal(runs.Labels, want) {
		t.Fatalf("runs of %v, want %v", runs.Labels, want)
	}
	for i, want := range []float64{7, 7, 8, 9, 7} {
		if runs.Rows[i][0] != want {
			t.Errorf("run %d has seed %v, want %v", i, runs.Rows[i][0], want)
		}
	}
	lossy := 0.0
	for _, row := range runs.Rows[1:4] {
		lossy += row[1] / 3
		if row[3] == 0 {
			t.Errorf("a lossy run without a loss: %v", row)
		}
	}
	if slices.Equal(runs.Rows[1][1:], runs.Rows[2][1:]) {
		t.Error("two seeds made the same run")
	}
	clean := runs.Rows[0]
	if got := measured(o, "what loss leaves"); math.Abs(got-lossy/clean[1]) > 1e-9 || got > 0.95 {
		t.Errorf("loss leaves %v, want the mean of the seeds, %v, of %v", got, lossy, clean[1])
	}
	if got := measured(o, "goodput, clean"); got != clean[1] || got < 8.5 || got > 9.5 {
		t.Errorf("goodput %v, want that of the run, %v, and 9 Gb/s or so", got, clean[1])
	}
	if len(o.Plots) != 2 || len(o.Notes) != 0 || o.Simulated.Microseconds() != 1100+3*1000+2000 || o.Hops == 0 || o.Events == 0 {
		t.Errorf("%d plots, notes %v, %v simulated, %d hops, %d events", len(o.Plots), o.Notes, o.Simulated, o.Hops, o.Events)
	}
}

// A quick run leaves out what is for full ones, with its rows and pictures, and is shorter.
func TestQuick(t *testing.T) {
	o := run(t, newTiny(), figure.Options{Quick: true})
	runs := data(t, o, "runs")
	if want := []string{"clean", "lossy"}; !slices.Equal(runs.Labels, want) {
		t.Fatalf("runs of %v, want %v", runs.Labels, want)
	}
	if runs.Rows[0][2] != 0.3 || runs.Rows[1][2] != 1 {
		t.Errorf("%v and %v ms, want 0.3, and 1 where the case says nothing", runs.Rows[0][2], runs.Rows[1][2])
	}
	if len(o.Table) != 2 || len(o.Plots) != 1 || len(o.Notes) != 1 {
		t.Errorf("%d rows, %d plots, notes %v; want 2, 1 and a note", len(o.Table), len(o.Plots), o.Notes)
	}
}

// Goodput is measured after the warm-up, and bins cover all the time.
func TestTime(t *testing.T) {
	o := run(t, newTiny(), figure.Options{})
	bins := data(t, o, "over-time")
	if len(bins.Rows) != 11 {
		t.Fatalf("%d bins, want 11 of 0.1 ms", len(bins.Rows))
	}
	mean := 0.0
	for i, row := range bins.Rows {
		if want := float64(i+1) / 10; math.Abs(row[1]-want) > 1e-9 {
			t.Errorf("bin %d ends at %v ms, want %v", i, row[1], want)
		}
		if i > 0 { // the first is the warm-up
			mean += row[2] / 10
		}
	}
	if got := measured(o, "goodput, clean"); math.Abs(got-mean) > 1e-9 {
		t.Errorf("goodput %v, by the bins %v", got, mean)
	}
}

// Results do not depend on how many runs happen at a time.
func TestWorkers(t *testing.T) {
	one, three := run(t, newTiny(), figure.Options{Workers: 1}), run(t, newTiny(), figure.Options{Workers: 3})
	if !reflect.DeepEqual(one.Data, three.Data) {
		t.Errorf("one worker: %v\nthree: %v", one.Data, three.Data)
	}
}

func TestFiles(t *testing.T) {
	directory := t.TempDir()
	if err := figure.Write(directory, run(t, newTiny(), figure.Options{Quick: true})); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"runs.csv": "label,seed,goodput_gbps,ms,lost\nclean,7,", "over-time.csv": "label,seed,ms,goodput_gbps,pauses\nclean,7,0.1,", "time.svg": "<svg",
	} {
		if text, err := os.ReadFile(filepath.Join(directory, name)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s lacks %q: %v", name, want, err)
		}
	}
}

// What an experiment names and does not have is found when it is declared.
func TestUnknownNamesPanic(t *testing.T) {
	for want, spoil := range map[string]func(*experiment.Experiment){
		`no case "cleam"`:   func(e *experiment.Experiment) { e.Rows[0].Value = experiment.Mean("cleam", "goodput_gbps") },
		`no measure "good"`: func(e *experiment.Experiment) { e.Rows[0].Value = experiment.Mean("clean", "good") },
		`no case "lozzy"`:   func(e *experiment.Experiment) { e.Rows[2].Value = experiment.Ratio("ms", "clean", "lozzy") },
		`no case "drawn"`:   func(e *experiment.Experiment) { e.Plots[0].Draw = experiment.OverTime("", []string{"drawn"}) },
		`no measure "bars"`: func(e *experiment.Experiment) {
			e.Plots[1].Draw = experiment.Grouped{Series: []experiment.GroupedSeries{{Cases: []string{"clean"}}}}.Bars("bars")
		},
		`case "clean" occurs twice`: func(e *experiment.Experiment) { e.Cases[1].Name = "clean" },
		`case "long" occurs twice`:  func(e *experiment.Experiment) { e.Cases[2].For = 0 },
	} {
		e := newTiny()
		spoil(e)
		func() {
			defer func() {
				if r, _ := recover().(string); !strings.HasPrefix(r, "experiment tiny: "+want) {
					t.Errorf("got %q, want %q", r, want)
				}
			}()
			e.Figure()
		}()
	}
}

// An error names the case and the seed that had it.
func TestErrors(t *testing.T) {
	broken := errors.New("broken")
	for want, spoil := range map[string]func(*experiment.Experiment){
		"scenario.yaml": func(e *experiment.Experiment) { e.Scenario = []byte("sede: 1") },
		"long, seed 7: scenario.yaml:7:12: transports.default.window: got -1": func(e *experiment.Experiment) {
			e.Cases[2].Change = func(s *scenario.Scenario) { s.Transports["default"].RC.Window = -1 }
		},
		"lossy, seed 7: broken": func(e *experiment.Experiment) {
			e.Cases[1].Seeds, e.Cases[1].Script = 1, func(*scenario.Run) error { return broken }
		},
	} {
		e := newTiny()
		spoil(e)
		if _, err := e.Figure().Run(t.Context(), figure.Options{Seed: 7, Workers: 1}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// A quick run finds what is wrong with the cases that it leaves out.
func TestQuickChecksAllCases(t *testing.T) {
	e := newTiny()
	e.Cases[2].Change = func(s *scenario.Scenario) { s.Transports["default"].RC.Window = -1 }
	if _, err := e.Figure().Run(t.Context(), figure.Options{Quick: true, Seed: 7}); err == nil || !strings.HasPrefix(err.Error(), "long, seed 7: ") {
		t.Errorf("got %v, want what is wrong with the long case", err)
	}
}

// A connection that gives up is an error, unless the case is about that.
func TestFailures(t *testing.T) {
	e := newTiny()
	e.Cases = e.Cases[:1]
	e.Rows, e.Plots, e.Notes = nil, nil, nil
	e.Cases[0].For = 10 * sim.Second
	e.Cases[0].Change = func(s *scenario.Scenario) {
		s.Faults = append(s.Faults, &scenario.Fault{Link: scenario.Names{"w-b"}, Impairment: sim.Impairment{Down: true}})
	}
	if _, err := e.Figure().Run(t.Context(), figure.Options{Seed: 1}); err == nil || !strings.HasPrefix(err.Error(), "clean, seed 1: flow 0: ") {
		t.Errorf("got %v, want the flow that failed", err)
	}
	e.Cases[0].MayFail = true
	if _, err := e.Figure().Run(t.Context(), figure.Options{Seed: 1}); err != nil {
		t.Error(err)
	}
}

// A run that nobody wants any more ends within a millisecond of virtual time.
func TestCancel(t *testing.T) {
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	var net *sim.Network
	e := newTiny()
	e.Cases = e.Cases[:1]
	e.Cases[0].For = sim.Second
	e.Cases[0].Script = func(r *scenario.Run) error {
		net = r.Net
		return r.Net.At(20*sim.Microsecond, 0, func() { cancel(enough) })
	}
	e.Rows, e.Plots, e.Notes = nil, nil, nil
	if _, err := e.Figure().Run(ctx, figure.Options{Seed: 1}); !errors.Is(err, enough) {
		t.Errorf("got %v, want the cause of the end", err)
	}
	if net.Now() > sim.Millisecond {
		t.Errorf("it went on up to %v", net.Now())
	}
}

// The example in the documentation is the one that is compiled here.
func TestDocumentedExample(t *testing.T) {
	text, err := os.ReadFile("../../docs/SIMULATOR.md")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Your own experiment\n")
	_, block, _ := strings.Cut(section, "```go\n")
	block, _, ok := strings.Cut(block, "```\n")
	if !ok || !strings.Contains(string(code), block) {
		t.Errorf("example_test.go does not have the code of the section:\n%s", block)
	}
}
