package experiment

import (
	"fmt"
	"maps"
	"slices"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/plot"
	"github.com/braid-rdma/braid/experiments/table"
	"github.com/braid-rdma/braid/internal/statistics"
	"github.com/braid-rdma/braid/sim"
)

// Chart is a picture of a plot.
type Chart = plot.Chart

// Results are the readings of all runs, case by case.
type Results struct {
	Readings   []*Reading
	experiment *Experiment
}

// Of are the readings of a case; none if it was not run. It panics if there is no such case.
func (r Results) Of(name string) (some []*Reading) {
	if !slices.ContainsFunc(r.experiment.Cases, func(c Case) bool { return c.Name == name }) {
		panic(fmt.Sprintf("experiment %s: no case %q", r.experiment.Name, name))
	}
	for _, reading := range r.Readings {
		if reading.Case == name {
			some = append(some, reading)
		}
	}
	return some
}

// Mean is the mean of a measure over the runs of a case; table.NoNumber if it was not run.
func (r Results) Mean(name, measure string) float64 {
	return Average(r.values(name, measure))
}

// Average is the mean of numbers; table.NoNumber of none.
func Average(values []float64) float64 { return statistics.Mean(values) }

// First is the first reading of a case; nil if it was not run.
func (r Results) First(name string) *Reading {
	if some := r.Of(name); len(some) > 0 {
		return some[0]
	}
	return nil
}

// Degrees is the out-of-order degrees of all runs of a case.
func (r Results) Degrees(name string) (all Degrees) {
	for _, reading := range r.Of(name) {
		all = all.Plus(reading.Degrees)
	}
	return all
}

// Least and Most are the ends of a measure over the runs of a case.
func (r Results) Least(name, measure string) float64 {
	return extreme(r.values(name, measure), slices.Min[[]float64])
}

// Most is the greatest; see Least.
func (r Results) Most(name, measure string) float64 {
	return extreme(r.values(name, measure), slices.Max[[]float64])
}

func extreme(values []float64, of func([]float64) float64) float64 {
	if len(values) == 0 {
		return table.NoNumber()
	}
	return of(values)
}

func (r Results) values(name, measure string) (all []float64) {
	i := slices.IndexFunc(r.experiment.Measures, func(m Measure) bool { return m.Name == measure })
	if i < 0 {
		panic(fmt.Sprintf("experiment %s: no measure %q", r.experiment.Name, measure))
	}
	for _, reading := range r.Of(name) {
		all = append(all, reading.values[i])
	}
	return all
}

// Mean is a row's value: the mean of a measure over the runs of a case.
func Mean(name, measure string) func(Results) float64 {
	return func(r Results) float64 { return r.Mean(name, measure) }
}

// Least is a row's value: the least of a measure over the runs of a case.
func Least(name, measure string) func(Results) float64 {
	return func(r Results) float64 { return r.Least(name, measure) }
}

// Most is a row's value: the greatest of a measure over the runs of a case.
func Most(name, measure string) func(Results) float64 {
	return func(r Results) float64 { return r.Most(name, measure) }
}

// Ratio is a row's value: the mean of a measure in one case divided by that in another.
func Ratio(measure, name, to string) func(Results) float64 {
	return func(r Results) float64 { return r.Mean(name, measure) / r.Mean(to, measure) }
}

// runs is a line for each run.
func (r Results) runs() figure.Data {
	d := figure.Data{Name: "runs", Columns: []string{"seed"}, Labels: []string{}}
	for _, m := range r.experiment.Measures {
		d.Columns = append(d.Columns, m.Name)
	}
	for _, reading := range r.Readings {
		d.Labels = append(d.Labels, reading.Case)
		d.Rows = append(d.Rows, append([]float64{float64(reading.Seed)}, reading.values...))
	}
	return d
}

// bins is a line for each interval of each run that has some.
func (r Results) bins() figure.Data {
	d := figure.Data{Name: "over-time", Columns: []string{"seed", "ms", "goodput_gbps", "pauses"}, Labels: []string{}}
	for _, reading := range r.Readings {
		for _, b := range reading.Bins {
			d.Labels = append(d.Labels, reading.Case)
			d.Rows = append(d.Rows, []float64{float64(reading.Seed), milliseconds(b.End), b.Goodput, float64(b.Pauses)})
		}
	}
	return d
}

// series is a line for each reading of each probe, in the first run of each case.
func (r Results) series() figure.Data {
	d := figure.Data{Name: "series", Columns: []string{"ms", "value"}, Labels: []string{}}
	for i, reading := range r.Readings {
		if i > 0 && r.Readings[i-1].Case == reading.Case {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(reading.Series)) {
			s := reading.Series[name]
			for i, at := range s.Times {
				d.Labels = append(d.Labels, reading.Case+": "+name)
				d.Rows = append(d.Rows, []float64{milliseconds(at), s.Values[i]})
			}
		}
	}
	return d
}

func milliseconds(t sim.Time) float64 { return t.Seconds() * 1000 }
