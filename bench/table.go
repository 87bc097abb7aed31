package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// A part of the benchmark. Each has a table of its own, since what is
// worth saying of a simulation is not what is worth saying of a connection.
type part string

const (
	partSockets     part = "sockets"
	partProcessor   part = "processor"
	partConnections part = "connections"
	partCores       part = "cores"
	partMiddleware  part = "middleware"
	partSimulator   part = "simulator"
)

// columns are the headings of a part's table.
func (p part) columns() []string {
	if p == partSimulator {
		return []string{"what", "measured", "best", "ratio", "to", "target", "met", "memory", "flows"}
	}
	return []string{"what", "measured", "best", "p99", "ratio", "to", "target", "met"}
}

// cells are what stands under the columns.
func (p part) cells(r *row) []string {
	if p == partSimulator {
		return r.simCells()
	}
	return r.cells()
}

// caption says what the figures of a part are worth: when, where and how often.
func (r *report) caption(p part) string {
	where := fmt.Sprintf("%s; %s.", r.Date.Format("2 January 2006"), r.Machine)
	if p == partSimulator {
		return where + " " + r.simCaption()
	}
	return fmt.Sprintf("%s Best of %d, %d s each, two processes on loopback, taking turns.", where, r.Rounds, r.Seconds)
}

// writeParts writes the table of each part that was measured, by the given form.
func (r *report) writeParts(w io.Writer, form func(io.Writer, [][]string) error) error {
	separator := ""
	for _, p := range []part{partSockets, partProcessor, partConnections, partCores, partMiddleware, partSimulator} {
		lines := [][]string{p.columns()}
		for i := range r.Rows {
			if r.Rows[i].Part == p {
				lines = append(lines, p.cells(&r.Rows[i]))
			}
		}
		if len(lines) == 1 {
			continue
		}
		if _, err := io.WriteString(w, separator); err != nil {
			return err
		}
		if err := form(w, lines); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "\n%s\n", r.caption(p)); err != nil {
			return err
		}
		if claims := r.claimLines(); p == partMiddleware && len(claims) > 1 {
			fmt.Fprintln(w)
			if err := form(w, claims); err != nil {
				return err
			}
		}
		separator = "\n"
	}
	return nil
}

// writeTable writes lines for a terminal; the first is the heading.
func writeTable(w io.Writer, lines [][]string) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, cells := range lines {
		fmt.Fprintln(tab, strings.Join(cells, "\t"))
	}
	return tab.Flush()
}

// writeMarkdown writes lines for a document; the first is the heading.
func writeMarkdown(w io.Writer, lines [][]string) error {
	var text strings.Builder
	for i, cells := range lines {
		fmt.Fprintf(&text, "| %s |\n", strings.Join(cells, " | "))
		if i == 0 {
			fmt.Fprintf(&text, "|%s\n", strings.Repeat(" --- |", len(cells)))
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}

func (r *row) cells() []string {
	p99 := ""
	if r.P99 > 0 && (r.Metric == latency.name || r.Metric == roundTrip.name) {
		p99 = fmt.Sprintf("%.2f %s", r.P99, r.Unit)
	}
	return []string{r.Name, r.Metric, r.bestText(), p99, r.ratioText(), r.Reference, r.targetText(), r.metText()}
}

func (r *row) bestText() string {
	switch {
	case r.best.Late:
		return fmt.Sprintf("%.2f %s at %.2f Gb/s", r.Best, r.Unit, r.best.GoodputGbps)
	case len(r.Samples) > 0 || r.Published != "":
		return fmt.Sprintf("%.2f %s", r.Best, r.Unit)
	case r.Skipped:
		return "skipped"
	}
	return "failed"
}

func (r *row) ratioText() string {
	if r.Ratio == nil {
		return ""
	}
	return fmt.Sprintf("%.2f", *r.Ratio)
}

func (r *row) targetText() string {
	if r.Target == nil {
		return ""
	}
	sign := "≥"
	if r.AtMost {
		sign = "≤"
	}
	if r.TargetIsRatio {
		return fmt.Sprintf("%s %.3g", sign, *r.Target)
	}
	return fmt.Sprintf("%s %.1f %s", sign, *r.Target, r.Unit)
}

func (r *row) metText() string {
	switch {
	case r.Target == nil:
		return ""
	case r.Met == nil:
		return "not compared"
	case *r.Met:
		return "yes"
	}
	return "no"
}
