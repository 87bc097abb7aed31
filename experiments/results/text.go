package results

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Text writes the summary for the terminal: a line for each quantity, a column for
// all flows and for each group of them.
func (s *Summary) Text(w io.Writer) error {
	p := &printer{w: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	p.line("%s (seed %d): %s simulated%s", s.Name, s.Seed, micros(s.SimulatedUs), stopped(s.Complete))
	for columns := range slices.Chunk(s.columns(), mostColumns) {
		p.line("")
		p.flows(columns)
	}
	for _, d := range s.Degrees {
		p.line("")
		p.line("out-of-order degree of %s: p50 %d, p99 %d, p99.9 %d, most %d", d.Transport, d.P50, d.P99, d.P999, d.Max)
	}
	p.line("")
	p.network(&s.Network)
	if s.Cost != nil {
		p.line("took\t%.2f s, %.2f million hops per second", s.Cost.WallSeconds, s.Cost.HopsPerSecond/1e6)
	}
	if f := &s.Flows; f.Unfinished > 0 {
		p.line("")
		p.line("%d of %d flows had not finished when the run ended: completion times and slowdowns are those of %d that were done, without what may be the longest.",
			f.Unfinished, f.Total, f.Done)
	}
	return p.w.Flush()
}

// column is some of the flows.
type column struct {
	name string
	*Flows
}

// mostColumns stand beside each other in a terminal; more go below.
const mostColumns = 6

// columns has one for each group, unless one has all flows.
func (s *Summary) columns() []column {
	columns := []column{{"all flows", &s.Flows}}
	add := func(kind string, groups []Group) {
		if len(groups) < 2 {
			return
		}
		for i := range groups {
			columns = append(columns, column{kind + " " + groups[i].Name, &groups[i].Flows})
		}
	}
	add("class", s.Classes)
	add("transport", s.Transports)
	return columns
}

func stopped(complete bool) string {
	if complete {
		return ""
	}
	return ", stopped before its end"
}

// printer writes tables. Errors of writing come out when it is flushed.
type printer struct{ w *tabwriter.Writer }

func (p *printer) line(format string, args ...any) {
	fmt.Fprintf(p.w, format+"\n", args...)
}

// quantity is a line about flows.
type quantity struct {
	name string
	of   func(*Flows) string
}

var quantities = []quantity{
	{"flows", func(f *Flows) string { return fmt.Sprint(f.Total) }},
	{"  done", func(f *Flows) string { return fmt.Sprint(f.Done) }},
	{"  failed", func(f *Flows) string { return fmt.Sprint(f.Failed) }},
	{"  unfinished", func(f *Flows) string { return fmt.Sprint(f.Unfinished) }},
	{"  without an end", func(f *Flows) string { return fmt.Sprint(f.Endless) }},
	{"completion time", func(f *Flows) string { return f.ofDone() }},
	{"  mean", func(f *Flows) string { return f.time(f.FCTUs.Mean) }},
	{"  p50", func(f *Flows) string { return f.time(f.FCTUs.P50) }},
	{"  p99", func(f *Flows) string { return f.time(f.FCTUs.P99) }},
	{"  p99.9", func(f *Flows) string { return f.time(f.FCTUs.P999) }},
	{"  longest", func(f *Flows) string { return f.time(f.FCTUs.Max) }},
	{"slowdown", func(f *Flows) string { return f.ofDone() }},
	{"  mean", func(f *Flows) string { return f.ratio(f.Slowdown.Mean) }},
	{"  p50", func(f *Flows) string { return f.ratio(f.Slowdown.P50) }},
	{"  p99", func(f *Flows) string { return f.ratio(f.Slowdown.P99) }},
	{"  p99.9", func(f *Flows) string { return f.ratio(f.Slowdown.P999) }},
	{"goodput, together", func(f *Flows) string { return bits(f.Goodput.TotalBps) }},
	{"  mean of the flows", func(f *Flows) string { return bits(f.Goodput.MeanBps) }},
	{"  least of the flows", func(f *Flows) string { return bits(f.Goodput.MinBps) }},
	{"  Jain's index", func(f *Flows) string { return fmt.Sprintf("%.3f", f.Goodput.Jain) }},
	{"packets", func(f *Flows) string { return fmt.Sprint(f.Packets) }},
	{"  sent again", func(f *Flows) string { return fmt.Sprint(f.Retransmitted) }},
	{"  marked", func(f *Flows) string { return fmt.Sprint(f.Marked) }},
	{"  out of order", func(f *Flows) string { return fmt.Sprint(f.OutOfOrder) }},
	{"  highest degree", func(f *Flows) string { return fmt.Sprint(f.MaxOutOfOrder) }},
	{"timeouts", func(f *Flows) string { return fmt.Sprint(f.Timeouts) }},
}

// ofDone says whose the numbers below are.
func (f *Flows) ofDone() string {
	if f.Unfinished > 0 {
		return fmt.Sprintf("of %d done, %d not", f.Done, f.Unfinished)
	}
	return fmt.Sprintf("of %d done", f.Done)
}

// time and ratio write what only flows that are done have.
func (f *Flows) time(us float64) string {
	if f.Done == 0 {
		return "-"
	}
	return micros(us)
}

func (f *Flows) ratio(v float64) string {
	if f.Done == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", v)
}

// flows writes a table of quantities.
func (p *printer) flows(columns []column) {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.name
	}
	p.line("\t%s", strings.Join(names, "\t"))
	for _, q := range quantities {
		values := make([]string, len(columns))
		for i, c := range columns {
			values[i] = q.of(c.Flows)
		}
		p.line("%s\t%s", q.name, strings.Join(values, "\t"))
	}
}

func (p *printer) network(n *Network) {
	p.line("network")
	p.line("  hops\t%d", n.Hops)
	p.line("  marked\t%d", n.Marked)
	p.line("  dropped\t%d", n.Dropped)
	p.line("  lost to faults\t%d", n.Lost)
	p.line("  pauses\t%d, %s", n.Pauses, micros(n.PausedUs))
	if n.PeakQueue != "" {
		p.line("  longest queue\t%d bytes at %s", n.PeakQueueBytes, n.PeakQueue)
	}
}

// micros writes a time in the unit that suits it.
func micros(us float64) string {
	switch {
	case us < 1000:
		return fmt.Sprintf("%.1f µs", us)
	case us < 1e6:
		return fmt.Sprintf("%.2f ms", us/1e3)
	}
	return fmt.Sprintf("%.2f s", us/1e6)
}

// bits writes a rate.
func bits(bps float64) string { return fmt.Sprintf("%.2f Gb/s", bps/1e9) }
