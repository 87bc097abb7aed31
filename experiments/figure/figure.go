package figure

import (
	"context"
	"time"

	"github.com/braid-rdma/braid/experiments/plot"
	"github.com/braid-rdma/braid/experiments/pool"
	"github.com/braid-rdma/braid/experiments/table"
)

// Figure is a reproduction of a figure, or of a number, of a paper.
type Figure struct {
	Name    string // as the command takes it: "mp-rdma-11a"
	Title   string
	Paper   string // "MP-RDMA (NSDI '18)"
	Section string // "§5.2.1, figure 11a"
	README  string // Markdown: what the paper did, what we do, where they differ

	// Run runs the experiment. The outcome is a function of the options but for
	// Outcome.Wall.
	Run func(ctx context.Context, o Options) (*Outcome, error)
}

// Options say how to run a figure.
type Options struct {
	// Quick asks for a smaller version, of a few seconds, that shows the direction
	// and the rough size of the result.
	Quick bool
	Seed  uint64
	// Workers is how many simulations run at a time; 0: as many as processors.
	Workers int
	// Pool, if not nil, is shared with other figures that run at the same time, and takes the place of Workers.
	Pool pool.Pool
	// Progress, if not nil, is told which share is done. It may be called by several
	// goroutines.
	Progress func(share float64)
}

// Outcome is what a run of a figure found.
type Outcome struct {
	Plots []Plot
	Table table.Table
	Data  []Data
	Notes []string // what a reader of the numbers should know

	Hops, Events uint64 // simulated, over all runs
	Simulated    time.Duration
	Wall         time.Duration
}

// Plot is a picture of an outcome.
type Plot struct {
	Name  string // of its file, without suffix
	Title string
	Chart plot.Chart
}

// Data is a table of numbers behind a picture.
type Data struct {
	Name    string // of its file, without suffix
	Columns []string
	Rows    [][]float64
	// Labels, if not nil, is a first column of text.
	Labels []string
}

// Note adds a remark for the reader.
func (o *Outcome) Note(text string) { o.Notes = append(o.Notes, text) }
