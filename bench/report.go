package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
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
// never finished a round is always one, and so are results that differ from run
// to run; a missed target only under -strict.
func (r *report) verdict(strict bool) error {
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.differs {
			return fmt.Errorf("%s: %w", row.Name, errDiffers)
		}
		if row.ours && len(row.Samples) == 0 && !row.Skipped {
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
		return r.writeParts(w, writeMarkdown)
	}
	return r.writeParts(w, writeTable)
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
