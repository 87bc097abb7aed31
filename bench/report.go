package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"
)

// reportSchema is raised when a key of the JSON report changes its meaning.
const reportSchema = 1

// A report is the outcome of one run, together with what it was measured on.
type report struct {
	Schema  int       `json:"schema"`
	Date    time.Time `json:"date"`
	Machine string    `json:"machine"`
	Rounds  int       `json:"rounds"`
	Seconds int       `json:"seconds"`
	Rows    []row     `json:"rows"`
}

func newReport(opts options) *report {
	return &report{
		Schema:  reportSchema,
		Date:    time.Now().UTC().Truncate(time.Second),
		Machine: describeMachine(),
		Rounds:  opts.rounds,
		Seconds: opts.seconds,
	}
}

// verdict is the error that the command ends with. A contestant of ours that
// never finished a round is always one, a missed target only under -strict.
func (r *report) verdict(strict bool) error {
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.ours && len(row.Samples) == 0 {
			return fmt.Errorf("%s was never measured: %s", row.Name, row.Problem)
		}
		if strict && row.Target != nil && (row.Met == nil || !*row.Met) {
			return fmt.Errorf("%w: %s, %s (target %s)", errNotMet, row.Name, row.metText(), row.targetText())
		}
	}
	return nil
}

func (r *report) write(w io.Writer, opts options) error {
	switch {
	case opts.json:
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(r)
	case opts.markdown:
		return r.writeMarkdown(w)
	}
	return r.writeTable(w)
}

var columns = []string{"what", "measured", "best", "p99", "ratio", "target", "met"}

func (r *report) writeTable(w io.Writer) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, strings.Join(columns, "\t"))
	for i := range r.Rows {
		fmt.Fprintln(tab, strings.Join(r.Rows[i].cells(), "\t"))
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, "\n"+r.caption())
	return err
}

func (r *report) writeMarkdown(w io.Writer) error {
	var text strings.Builder
	fmt.Fprintf(&text, "| %s |\n|%s\n", strings.Join(columns, " | "), strings.Repeat(" --- |", len(columns)))
	for i := range r.Rows {
		fmt.Fprintf(&text, "| %s |\n", strings.Join(r.Rows[i].cells(), " | "))
	}
	fmt.Fprintf(&text, "\n%s\n", r.caption())
	_, err := io.WriteString(w, text.String())
	return err
}

// caption says what the figures are worth: when, where and how often.
func (r *report) caption() string {
	return fmt.Sprintf("%s; %s. Best of %d, %d s each, two processes on loopback, taking turns.",
		r.Date.Format("2 January 2006"), r.Machine, r.Rounds, r.Seconds)
}

func (r *row) cells() []string {
	var best, p99, ratio string
	switch {
	case len(r.Samples) > 0:
		best = fmt.Sprintf("%.2f %s", r.Best, r.Unit)
	case r.Skipped:
		best = "skipped"
	default:
		best = "failed"
	}
	if len(r.Samples) > 0 && r.Metric == latency.name {
		p99 = fmt.Sprintf("%.2f %s", r.P99, r.Unit)
	}
	if r.Ratio != nil {
		ratio = fmt.Sprintf("%.2f", *r.Ratio)
	}
	return []string{r.Name, r.Metric, best, p99, ratio, r.targetText(), r.metText()}
}

func (r *row) targetText() string {
	if r.Target == nil {
		return ""
	}
	sign, unit := "≥", " "+r.Unit
	if r.AtMost {
		sign = "≤"
	}
	if r.TargetIsRatio {
		unit = ""
	}
	return fmt.Sprintf("%s %.1f%s", sign, *r.Target, unit)
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

// describeMachine names the processor, its cores, the kernel and Go, as far as
// the system tells.
func describeMachine() string {
	parts := []string{fmt.Sprintf("%d cores", runtime.NumCPU())}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if key, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(key) == "model name" {
				parts = append([]string{strings.TrimSpace(value)}, parts...)
				break
			}
		}
	}
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		parts = append(parts, "Linux "+strings.TrimSpace(string(release)))
	}
	return strings.Join(append(parts, runtime.Version()), ", ")
}
