package experiment

import (
	"context"
	"fmt"

	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/internal/statistics"
	"github.com/braid-rdma/braid/sim"
)

// watch lets a run happen and reads it.
type watch struct {
	ctx     context.Context
	run     *scenario.Run
	reading *Reading
	at      sim.Time
	bin     sim.Time
	acked   []int64 // at the beginning of the bin
	pauses  uint64
	probes  []*probing

	untilDone, mayOutlast bool // as in Case
}

// probing is a probe at work.
type probing struct {
	Probe
	next   sim.Time
	series *Series
}

// never is later than any run ends.
const never = sim.Time(1<<63 - 1)

func (w *watch) add(probes []Probe) {
	for _, p := range probes {
		s := &Series{}
		w.reading.Series[p.Name] = s
		w.probes = append(w.probes, &probing{Probe: p, next: p.From, series: s})
	}
}

// slice is how much virtual time passes between two looks at the context.
const slice = sim.Millisecond

func (w *watch) measure() error {
	r, run := w.reading, w.run
	w.acked = make([]int64, len(run.Flows))
	w.probe()
	if err := w.until(r.From); err != nil {
		return err
	}
	before, links, degrees, counts := acked(run), run.Net.Links(), degreesOf(run), countsOf(run)
	if err := w.until(r.To); err != nil {
		return err
	}
	if left := w.unfinished(); w.untilDone && !w.mayOutlast && left > 0 {
		return fmt.Errorf("%d of %d flows have not ended by %v", left, len(run.Flows), r.To)
	}
	r.To = w.at
	r.Goodputs = rates(before, acked(run), r.To-r.From)
	r.Links = since(run.Net.Links(), links)
	r.Degrees = degreesOf(run).since(degrees)
	r.Counts = countsOf(run).since(counts)
	for _, f := range run.Flows {
		r.Flows = append(r.Flows, f.Result())
	}
	r.Deadlock, r.Storms = run.Net.Deadlock(), run.Net.Storms()
	return nil
}

func (w *watch) unfinished() (n int) {
	for _, t := range w.run.Traffic {
		n += t.Unfinished()
	}
	return n
}

// until lets the simulation happen up to an instant.
func (w *watch) until(end sim.Time) error {
	for w.at < end {
		if err := context.Cause(w.ctx); err != nil {
			return err
		}
		if w.untilDone && w.at%slice == 0 && w.unfinished() == 0 {
			return nil
		}
		next := min(end, w.at-w.at%slice+slice)
		if w.bin > 0 {
			next = min(next, w.at-w.at%w.bin+w.bin)
		}
		for _, p := range w.probes {
			next = min(next, p.next)
		}
		w.run.Net.Run(next)
		w.at = next
		if w.bin > 0 && next%w.bin == 0 {
			w.takeBin()
		}
		w.probe()
	}
	return nil
}

// probe reads the probes whose time it is.
func (w *watch) probe() {
	for _, p := range w.probes {
		if p.next != w.at {
			continue
		}
		if p.next += p.Every; p.Every == 0 {
			p.next = never
		}
		if p.Last {
			*p.series = Series{}
		}
		p.series.Times = append(p.series.Times, w.at)
		p.series.Values = append(p.series.Values, p.Of())
	}
}

func (w *watch) takeBin() {
	now := acked(w.run)
	flows := rates(w.acked, now, w.bin)
	pauses := uint64(0)
	for _, l := range w.run.Net.Links() {
		pauses += l.Pauses
	}
	w.reading.Bins = append(w.reading.Bins, Bin{End: w.at, Goodput: statistics.Sum(flows), Flows: flows, Pauses: pauses - w.pauses})
	w.acked, w.pauses = now, pauses
}
