package experiment

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/pool"
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
	if err := e.checkScenarios(base, o); err != nil {
		return nil, err
	}
	type outcome struct {
		reading      *Reading
		hops, events uint64
	}
	jobs := e.jobs(o)
	simulations := o.Pool
	if simulations == nil {
		simulations = pool.New(o.Workers)
	}
	done, err := pool.Map(ctx, simulations, len(jobs), o.Progress, func(ctx context.Context, i int) (outcome, error) {
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

// checkScenarios finds what is wrong with cases that a quick run leaves out, or changes.
func (e *Experiment) checkScenarios(base *scenario.Scenario, o figure.Options) error {
	for i := range e.Cases {
		j := job{&e.Cases[i], o.Seed, false}
		if _, err := base.Change(j.change); err != nil {
			return fmt.Errorf("%s, seed %d: %w", j.of.Name, j.seed, err)
		}
	}
	return nil
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
			runs = max(1, c.QuickSeeds)
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
	for _, d := range []figure.Data{results.bins(), results.series()} {
		if len(d.Rows) > 0 {
			out.Data = append(out.Data, d)
		}
	}
}

// run lets one run happen.
func (j job) run(ctx context.Context, base *scenario.Scenario) (*Reading, *sim.Network, error) {
	s, err := base.Change(j.change)
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
	warm, length, bin := j.of.Warm, j.of.For, j.of.Bin
	if j.quick {
		warm, length, bin = cmp.Or(j.of.QuickWarm, warm), cmp.Or(j.of.Quick, length), cmp.Or(j.of.QuickBin, bin)
	}
	r := &Reading{Case: j.of.Name, Seed: j.seed, Scenario: s, From: warm, To: warm + length, Series: map[string]*Series{}}
	w := &watch{ctx: ctx, run: run, bin: bin, untilDone: j.of.UntilDone, mayOutlast: j.of.MayOutlast, reading: r}
	if j.of.Probes != nil {
		w.add(j.of.Probes(run, r))
	}
	if err := w.measure(); err != nil {
		return nil, nil, err
	}
	if !j.of.MayFail {
		if err := r.failure(); err != nil {
			return nil, nil, err
		}
	}
	return r, run.Net, nil
}

// change makes the scenario that of the job.
func (j job) change(s *scenario.Scenario) {
	s.Seed = j.seed
	if j.of.Change != nil {
		j.of.Change(s)
	}
	if j.quick && j.of.QuickChange != nil {
		j.of.QuickChange(s)
	}
}
