package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// errSkipped marks a contestant that cannot run on this machine, as opposed to
// one that failed.
var errSkipped = errors.New("skipped")

// errTooSlow marks a measurement that did not end in time.
var errTooSlow = errors.New("gave up waiting")

// A sample is what one measurement found. Which fields mean something depends
// on the group's metric.
type sample struct {
	GoodputGbps float64 `json:"goodput_gbps,omitempty"`
	RateMops    float64 `json:"rate_mops,omitempty"`
	P50Micros   float64 `json:"p50_us,omitempty"`
	P99Micros   float64 `json:"p99_us,omitempty"`
	// ProcessorSeconds is what both ends used for a gigabyte.
	ProcessorSeconds float64 `json:"processor_s_per_gb,omitempty"`
	Late             bool    `json:"late,omitempty"` // it did not keep the rate that was asked for

	Crowd      *crowdSample `json:"crowd,omitempty"`
	Cores      *coresSample `json:"cores,omitempty"`
	Simulation *simFigures  `json:"simulation,omitempty"`
}

// A metric says which figure of a sample counts and which way is better.
type metric struct {
	name          string
	unit          string
	lowerIsBetter bool
	// worstCounts is for a limit that must hold in every round: there the best
	// one proves nothing.
	worstCounts bool
	value       func(sample) float64
}

var (
	goodput = metric{name: "goodput", unit: "Gb/s", value: func(s sample) float64 { return s.GoodputGbps }}
	latency = metric{
		name: "half round trip, p50", unit: "µs", lowerIsBetter: true,
		value: func(s sample) float64 { return s.P50Micros },
	}
	roundTrip = metric{
		name: "round trip, p50", unit: "µs", lowerIsBetter: true,
		value: func(s sample) float64 { return s.P50Micros },
	}
	tail = metric{
		name: "round trip, p99", unit: "µs", lowerIsBetter: true,
		value: func(s sample) float64 { return s.P99Micros },
	}
	connection = metric{
		name: "connection, p50", unit: "µs", lowerIsBetter: true,
		value: func(s sample) float64 { return s.P50Micros },
	}
	processor = metric{
		name: "processor time", unit: "s/GB", lowerIsBetter: true,
		value: func(s sample) float64 { return s.ProcessorSeconds },
	}
	rate = metric{name: "operations", unit: "M/s", value: func(s sample) float64 { return s.RateMops }}
)

// counts tells whether sample a is the one to report, rather than b.
func (m metric) counts(a, b sample) bool {
	if m.lowerIsBetter != m.worstCounts {
		return m.value(a) < m.value(b)
	}
	return m.value(a) > m.value(b)
}

// A measurement runs a program for the given time and says what it found.
type measurement func(ctx context.Context, duration time.Duration) (sample, error)

// lasting fixes the time that a measurement takes, and ends it when it takes
// much more.
func (m measurement) lasting(duration time.Duration) func(context.Context) (sample, error) {
	return m.within(duration+grace, duration)
}

// within is lasting with another limit for all that is done.
func (m measurement) within(limit, duration time.Duration) func(context.Context) (sample, error) {
	return func(ctx context.Context) (sample, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, limit, errTooSlow)
		defer cancel()
		s, err := m(ctx, duration)
		if cause := context.Cause(ctx); err != nil && cause != nil {
			return s, fmt.Errorf("%w: %w", cause, err)
		}
		return s, err
	}
}

// wholeSeconds renders a duration for the programs that take seconds.
func wholeSeconds(d time.Duration) string {
	return strconv.Itoa(max(1, int(d/time.Second)))
}

// A contestant is one program under measurement.
type contestant struct {
	name      string
	ours      bool    // braid itself: its failure fails the run
	target    *target // nil where nothing is promised
	reference int     // whose ratio is taken, by its place in the group
	run       func(ctx context.Context) (sample, error)

	metric *metric     // what is measured, where it differs from the group's
	also   []aspect    // further figures of the same samples, each a row
	beside []published // what others have measured
	paper  *claim      // of a paper, beside the ratio
}

// An aspect is another figure of a sample.
type aspect struct {
	metric metric
	target *target // nil where nothing is promised
}

// A target is what a contestant has to reach: a ratio to the group's reference,
// or a plain value where ofReference is false.
type target struct {
	bound       float64
	ofReference bool
}

// A group is measured together: its contestants take turns. The first one is
// the reference of the ratios, unless a contestant names another.
type group struct {
	part        part
	title       string
	metric      metric
	maxRounds   int // 0: as many as are asked for; long runs need fewer
	contestants []contestant
}

// rounds is how many rounds the group takes part in.
func (g group) rounds(wanted int) int {
	if g.maxRounds > 0 {
		return min(wanted, g.maxRounds)
	}
	return wanted
}

// metricOf is what counts for a contestant.
func (g group) metricOf(c *contestant) metric {
	if c.metric != nil {
		return *c.metric
	}
	return g.metric
}

// newRow is an empty row for one figure of a contestant.
func (g group) newRow(name string, m metric, ours bool) row {
	return row{Part: g.part, Group: g.title, Name: name, Metric: m.name, Unit: m.unit, ours: ours}
}

// measure runs all rounds and returns a row for each contestant. Only the end
// of the context is an error: a contestant that fails is a row that says so.
func (g group) measure(ctx context.Context, wanted int, progress io.Writer) ([]row, error) {
	rounds := g.rounds(wanted)
	rows := make([]row, len(g.contestants))
	for i := range g.contestants {
		c := &g.contestants[i]
		rows[i] = g.newRow(c.name, g.metricOf(c), c.ours)
	}
	seen := digests{}
	for round := range rounds {
		for i := range g.contestants {
			c := &g.contestants[i]
			if rows[i].Skipped {
				continue
			}
			s, err := c.run(ctx)
			m := g.metricOf(c)
			if err == nil {
				err = plausible(m, s, seen)
			}
			if ctx.Err() != nil {
				return nil, fmt.Errorf("interrupted during %s: %w", c.name, context.Cause(ctx))
			}
			rows[i].note(m, s, err)
			printProgress(progress, round+1, rounds, c.name, m, s, err)
		}
	}
	return g.conclude(rows), nil
}

// plausible refuses a sample that cannot be right.
func plausible(m metric, s sample, seen digests) error {
	if !(m.value(s) > 0) {
		return fmt.Errorf("measured %v %s, which cannot be", m.value(s), m.unit)
	}
	return seen.agree(s.Simulation)
}

// conclude compares the contestants' rows and adds to each the rows of its other
// aspects and of what stands beside it.
func (g group) conclude(rows []row) (all []row) {
	for i := range g.contestants {
		c := &g.contestants[i]
		rows[i].compare(g.metricOf(c), &rows[c.reference], c.target)
		rows[i].Claim = c.paper
		all = append(all, rows[i])
		for _, a := range c.also {
			all = append(all, g.aspectRow(&rows[i], a))
		}
		for _, p := range c.beside {
			all = append(all, p.row(g, g.metricOf(c)))
		}
	}
	return all
}

// aspectRow is the row of another figure of the samples that a row has.
func (g group) aspectRow(of *row, a aspect) row {
	r := g.newRow(of.Name, a.metric, of.ours)
	for _, s := range of.Samples {
		r.note(a.metric, s, nil)
	}
	r.Failures, r.Problem, r.Skipped = of.Failures, of.Problem, of.Skipped
	r.compare(a.metric, &r, a.target)
	return r
}

func printProgress(w io.Writer, round, rounds int, name string, m metric, s sample, err error) {
	if err != nil {
		fmt.Fprintf(w, "round %d/%d  %-32s %v\n", round, rounds, name, err)
		return
	}
	fmt.Fprintf(w, "round %d/%d  %-32s %8.2f %s\n", round, rounds, name, m.value(s), m.unit)
}
