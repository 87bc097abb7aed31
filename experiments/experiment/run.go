package experiment

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/experiments/table"
	"github.com/braid-rdma/braid/sim"
)

// job is one run of a case.
type job struct {
	of    *Case
	seed  uint64
	quick bool
}

// Run runs all cases and presents what they found.
func (e *Experiment) Run(ctx context.Context, o figure.Options) (*figure.Outcome, error) {
	began := time.Now()
	base, err := scenario.Parse("scenario.yaml", e.Scenario)
	if err != nil {
		return nil, err
	}
	type outcome struct {
		reading      *Reading
		hops, events uint64
	}
	jobs := e.jobs(o)
	done, err := figure.Map(ctx, o, len(jobs), func(ctx context.Context, i int) (outcome, error) {
		r, net, err := jobs[i].run(ctx, base)
		if err != nil {
			return outcome{}, fmt.Errorf("%s, seed %d: %w", jobs[i].of.Name, jobs[i].seed, err)
		}
		for _, m := range e.Measures {
			r.values = append(r.values, m.Of(r))
		}
		return outcome{r, net.Hops(), net.Events()}, nil
	})
	if err != nil {
		return nil, err
	}
	results := Results{experiment: e}
	out := &figure.Outcome{}
	for _, d := range done {
		results.Readings = append(results.Readings, d.reading)
		out.Hops += d.hops
		out.Events += d.events
		out.Simulated += time.Duration(d.reading.To / sim.Nanosecond)
	}
	e.present(out, results)
	out.Wall = time.Since(began)
	return out, nil
}

// jobs are the runs of all cases.
func (e *Experiment) jobs(o figure.Options) (jobs []job) {
	for i := range e.Cases {
		c := &e.Cases[i]
		if o.Quick && c.Full {
			continue
		}
		runs := max(1, c.Seeds)
		if o.Quick {
			runs = 1
		}
		for n := range runs {
			jobs = append(jobs, job{c, o.Seed + uint64(n), o.Quick})
		}
	}
	return jobs
}

// present turns results into tables and pictures. A row, or a picture, whose cases a quick run leaves out is left out
// as well.
func (e *Experiment) present(out *figure.Outcome, results Results) {
	for _, row := range e.Rows {
		measured := row.Value(results)
		if math.IsNaN(measured) {
			continue
		}
		out.Table = append(out.Table, table.Row{
			Figure: e.Name, Quantity: row.Quantity, Unit: row.Unit, Published: row.Published, Measured: measured,
			Tolerance: row.Tolerance, Note: row.Note,
		})
	}
	for _, p := range e.Plots {
		if chart := p.Draw(results); chart != nil {
			out.Plots = append(out.Plots, figure.Plot{Name: p.Name, Title: p.Title, Chart: chart})
		}
	}
	if e.Notes != nil {
		out.Notes = e.Notes(results)
	}
	out.Data = append(out.Data, results.runs())
	if bins := results.bins(); len(bins.Rows) > 0 {
		out.Data = append(out.Data, bins)
	}
}

// run lets one run happen.
func (j job) run(ctx context.Context, base *scenario.Scenario) (*Reading, *sim.Network, error) {
	s, err := base.Change(func(s *scenario.Scenario) {
		s.Seed = j.seed
		if j.of.Change != nil {
			j.of.Change(s)
		}
	})
	if err != nil {
		return nil, nil, err
	}
	run, err := s.Start()
	if err != nil {
		return nil, nil, err
	}
	if j.of.Script != nil {
		if err := j.of.Script(run); err != nil {
			return nil, nil, err
		}
	}
	length := j.of.For
	if j.quick {
		length = cmp.Or(j.of.Quick, length)
	}
	r := &Reading{Case: j.of.Name, Seed: j.seed, From: j.of.Warm, To: j.of.Warm + length}
	w := &watch{ctx: ctx, run: run, bin: j.of.Bin, reading: r}
	return r, run.Net, w.measure()
}

// watch lets a run happen and reads it.
type watch struct {
	ctx     context.Context
	run     *scenario.Run
	reading *Reading
	at      sim.Time
	bin     sim.Time
	acked   []int64 // at the beginning of the bin
	pauses  uint64
}

// slice is how much virtual time passes between two looks at the context.
const slice = sim.Millisecond

func (w *watch) measure() error {
	r, run := w.reading, w.run
	w.acked = make([]int64, len(run.Flows))
	if err := w.until(r.From); err != nil {
		return err
	}
	before, links := acked(run), run.Net.Links()
	if err := w.until(r.To); err != nil {
		return err
	}
	r.Goodputs = rates(before, acked(run), r.To-r.From)
	r.Links = since(run.Net.Links(), links)
	for _, f := range run.Flows {
		r.Flows = append(r.Flows, f.Result())
	}
	r.Deadlock, r.Storms = run.Net.Deadlock(), run.Net.Storms()
	return nil
}

// until lets the simulation happen up to an instant.
func (w *watch) until(end sim.Time) error {
	for w.at < end {
		if err := context.Cause(w.ctx); err != nil {
			return err
		}
		next := min(end, w.at+slice)
		if w.bin > 0 {
			next = min(next, w.at-w.at%w.bin+w.bin)
		}
		w.run.Net.Run(next)
		w.at = next
		if w.bin > 0 && next%w.bin == 0 {
			w.takeBin()
		}
	}
	return nil
}

func (w *watch) takeBin() {
	now := acked(w.run)
	flows := rates(w.acked, now, w.bin)
	pauses := uint64(0)
	for _, l := range w.run.Net.Links() {
		pauses += l.Pauses
	}
	w.reading.Bins = append(w.reading.Bins, Bin{End: w.at, Goodput: sum(flows), Flows: flows, Pauses: pauses - w.pauses})
	w.acked, w.pauses = now, pauses
}
