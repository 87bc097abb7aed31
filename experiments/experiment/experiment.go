package experiment

import (
	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/experiments/table"
	"github.com/braid-rdma/braid/sim"
)

// Experiment is a figure as data.
type Experiment struct {
	Name    string // as the command takes it
	Title   string
	Paper   string
	Section string
	README  string // Markdown: what the paper did, what we do, where they differ

	Scenario []byte // what all cases have in common, as YAML
	Cases    []Case
	Measures []Measure
	Rows     []Row
	Plots    []Plot
	Notes    []string
}

// Case is a run, or several with different seeds, of the scenario with changes.
type Case struct {
	Name   string
	Change func(*scenario.Scenario) // nil: none
	// Script, if not nil, adds what a scenario cannot say, before anything has happened.
	Script func(*scenario.Run) error
	// Warm is when measuring begins, For how long it goes on. Quick is for how long in a quick run; 0: as always.
	Warm, For, Quick sim.Time
	// Bin, if not zero, is the interval of the goodput over time, from the beginning of the run on.
	Bin   sim.Time
	Seeds int  // runs; 0: one
	Full  bool // not part of quick runs
}

// Measure is a number of each run.
type Measure struct {
	Name string // with its unit, as the column of a table: "goodput_gbps"
	Of   func(*Reading) float64
}

// Row is a number of the paper and where ours is.
type Row struct {
	Quantity, Unit string
	Published      float64 // table.NoNumber() if there is none
	Tolerance      table.Tolerance
	Source         string // where the published number stands, if not in the section of the experiment
	Note           string
	Value          func(Results) float64
}

// Plot is a picture of the results.
type Plot struct {
	Name, Title string
	Draw        func(Results) Chart
}

// Figure is the experiment as the list of figures has it.
func (e *Experiment) Figure() *figure.Figure {
	return &figure.Figure{Name: e.Name, Title: e.Title, Paper: e.Paper, Section: e.Section, README: e.README, Run: e.Run}
}
