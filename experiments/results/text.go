package results

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Text writes the summary for the terminal.
func (s *Summary) Text(w io.Writer) error {
	p := &printer{w: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	p.line("%s (seed %d): %s simulated%s", s.Name, s.Seed, micros(s.SimulatedUs), stopped(s.Complete))
	p.line("")
	p.line("\tdone\tfailed\tFCT mean\tp50\tp99\tp99.9\tslowdown mean\tp50\tp99\tp99.9")
	p.completion("all", &s.Flows)
	p.eachGroup(s, p.completion)
	p.line("")
	p.line("\tgoodput\tflow mean\tmin\tJain\tpackets\tsent again\ttimeouts\tmarked\tout of order\tmost")
	p.traffic("all", &s.Flows)
	p.eachGroup(s, p.traffic)
	for _, d := range s.Degrees {
		p.line("")
		p.line("out-of-order degree of %s: p50 %d, p99 %d, p99.9 %d, most %d", d.Transport, d.P50, d.P99, d.P999, d.Max)
	}
	n := &s.Network
	p.line("")
	p.line("network: %d hops, %d marks, %d drops, %d lost to faults, %d pauses (%s)",
		n.Hops, n.Marked, n.Dropped, n.Lost, n.Pauses, micros(n.PausedUs))
	if n.PeakQueue != "" {
		p.line("longest queue: %d bytes at %s", n.PeakQueueBytes, n.PeakQueue)
	}
	if s.Cost != nil {
		p.line("took %.2f s: %.2f million hops per second", s.Cost.WallSeconds, s.Cost.HopsPerSecond/1e6)
	}
	return p.w.Flush()
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

// eachGroup has a row for each group, unless one has all flows.
func (p *printer) eachGroup(s *Summary, row func(name string, f *Flows)) {
	for _, groups := range [][]Group{s.Classes, s.Transports} {
		if len(groups) < 2 {
			continue
		}
		for i := range groups {
			row(groups[i].Name, &groups[i].Flows)
		}
	}
}

func (p *printer) completion(name string, f *Flows) {
	t, d := &f.FCTUs, &f.Slowdown
	done := fmt.Sprintf("%d/%d", f.Done, f.Total-f.Endless)
	if t.Count == 0 {
		p.line("%s\t%s\t%d%s", name, done, f.Failed, strings.Repeat("\t-", 8))
		return
	}
	p.line("%s\t%s\t%d\t%s\t%s\t%s\t%s\t%.2f\t%.2f\t%.2f\t%.2f", name, done, f.Failed,
		micros(t.Mean), micros(t.P50), micros(t.P99), micros(t.P999), d.Mean, d.P50, d.P99, d.P999)
}

func (p *printer) traffic(name string, f *Flows) {
	g := &f.Goodput
	p.line("%s\t%s\t%s\t%s\t%.3f\t%d\t%d\t%d\t%d\t%d\t%d", name,
		bits(g.TotalBps), bits(g.MeanBps), bits(g.MinBps), g.Jain,
		f.Packets, f.Retransmitted, f.Timeouts, f.Marked, f.OutOfOrder, f.MaxOutOfOrder)
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
