package experiment

import (
	"fmt"

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
	Notes    func(Results) []string // what a reader of the numbers should know; nil: nothing
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
	// UntilDone ends the run when all flows that have an end have reached it. That some have not after Warm and For is an
	// error, unless MayOutlast says that the case knows how to judge them.
	UntilDone, MayOutlast bool
	// MayFail lets connections end with an error, such as retries that are used up. Else that is an error of the run.
	MayFail bool
	// Probes, if not nil, are what else is read while the run happens. The reading says from when to when is measured.
	Probes func(*scenario.Run, *Reading) []Probe

	// What else is different in a quick run.
	QuickWarm   sim.Time                 // 0: as always
	QuickBin    sim.Time                 // 0: as always
	QuickSeeds  int                      // 0: one
	QuickChange func(*scenario.Scenario) // after Change; nil: none
}

// Probe is a number that is read again and again while a run happens.
type Probe struct {
	Name string
	Of   func() float64
	// From is when it is read first, Every the time from then on between two readings; 0: it is read once.
	From, Every sim.Time
	Last        bool // only the last reading is kept
}

// Measure is a number of each run.
type Measure struct {
	Name string // with its unit, as the column of a table: "goodput_gbps"
	Of   func(*Reading) float64
}

// Row is a number of the paper and where ours is. A row without a number, because its case is not part of quick runs,
// is left out.
type Row struct {
	Quantity, Unit string
	Published      float64 // table.NoNumber() if there is none
	Tolerance      table.Tolerance
	Note           string
	Value          func(Results) float64
}

// Plot is a picture of the results; one that is nil, for lack of readings, is left out.
type Plot struct {
	Name, Title string
	Draw        func(Results) Chart
}

// Figure is the experiment as the list of figures has it. Rows and plots are tried without readings, as if no case had
// been run, so that a name which no case or no measure has panics here and not after the runs.
func (e *Experiment) Figure() *figure.Figure {
	e.check()
	return &figure.Figure{Name: e.Name, Title: e.Title, Paper: e.Paper, Section: e.Section, README: e.README, Run: e.Run}
}

// check panics if the experiment names what it does not have.
func (e *Experiment) check() {
	seen := map[string]bool{}
	for i := range e.Cases {
		if c := &e.Cases[i]; seen[c.Name] || c.For <= 0 {
			panic(fmt.Sprintf("experiment %s: case %q occurs twice or takes no time", e.Name, c.Name))
		}
		seen[e.Cases[i].Name] = true
	}
	e.present(&figure.Outcome{}, Results{experiment: e})
}
