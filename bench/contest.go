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
}

// A metric says which figure of a sample counts and which way is better.
type metric struct {
	name          string
	unit          string
	lowerIsBetter bool
	value         func(sample) float64
}

var (
	goodput = metric{name: "goodput", unit: "Gb/s", value: func(s sample) float64 { return s.GoodputGbps }}
	latency = metric{
		name: "half round trip, p50", unit: "µs", lowerIsBetter: true,
		value: func(s sample) float64 { return s.P50Micros },
	}
	rate = metric{name: "operations", unit: "M/s", value: func(s sample) float64 { return s.RateMops }}
)

func (m metric) better(a, b sample) bool {
	if m.lowerIsBetter {
		return m.value(a) < m.value(b)
	}
	return m.value(a) > m.value(b)
}

// A measurement runs a program for the given time and says what it found.
type measurement func(ctx context.Context, duration time.Duration) (sample, error)

// lasting fixes the time that a measurement takes, and ends it when it takes
// much more.
func (m measurement) lasting(duration time.Duration) func(context.Context) (sample, error) {
	return func(ctx context.Context) (sample, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, duration+grace, errTooSlow)
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
	name   string
	ours   bool    // braid itself: its failure fails the run
	target *target // nil where nothing is promised
	run    func(ctx context.Context) (sample, error)
}

// A target is what a contestant has to reach: a ratio to the group's reference,
// or a plain value where ofReference is false.
type target struct {
	bound       float64
	ofReference bool
}

// A group is measured together: its contestants take turns. The first one is
// the reference of the ratios.
type group struct {
	title       string
	metric      metric
	contestants []contestant
}

// measure runs all rounds and returns a row for each contestant. Only the end
// of the context is an error: a contestant that fails is a row that says so.
func (g group) measure(ctx context.Context, rounds int, progress io.Writer) ([]row, error) {
	rows := make([]row, len(g.contestants))
	for i, c := range g.contestants {
		rows[i] = row{Group: g.title, Name: c.name, Metric: g.metric.name, Unit: g.metric.unit, ours: c.ours}
	}
	for round := range rounds {
		for i, c := range g.contestants {
			if rows[i].Skipped {
				continue
			}
			s, err := c.run(ctx)
			if err == nil && !(g.metric.value(s) > 0) {
				err = fmt.Errorf("measured %v %s, which cannot be", g.metric.value(s), g.metric.unit)
			}
			if ctx.Err() != nil {
				return nil, fmt.Errorf("interrupted during %s: %w", c.name, context.Cause(ctx))
			}
			rows[i].note(g.metric, s, err)
			printProgress(progress, round+1, rounds, g, c, s, err)
		}
	}
	for i, c := range g.contestants {
		rows[i].compare(g.metric, &rows[0], c.target)
	}
	return rows, nil
}

func printProgress(w io.Writer, round, rounds int, g group, c contestant, s sample, err error) {
	if err != nil {
		fmt.Fprintf(w, "round %d/%d  %-32s %v\n", round, rounds, c.name, err)
		return
	}
	fmt.Fprintf(w, "round %d/%d  %-32s %8.2f %s\n", round, rounds, c.name, g.metric.value(s), g.metric.unit)
}
