package full

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/braid-rdma/braid/experiments/results"
	"github.com/braid-rdma/braid/experiments/sweep"
)

// sweepOutput is where the results of a sweep go.
type sweepOutput struct {
	dir    string // empty: no files
	asJSON bool
}

// prepare makes the directory, so that one that cannot be made is found before the first run.
func (o sweepOutput) prepare() error {
	if o.dir == "" {
		return nil
	}
	return os.MkdirAll(o.dir, 0o755)
}

// write prints the results before it writes them, so that a full disk loses none.
func (o sweepOutput) write(w io.Writer, found []sweep.Result) error {
	runs, err := sweepRuns(found)
	if err != nil {
		return err
	}
	show := writeSweepTable
	if o.asJSON {
		show = writeJSONLines
	}
	if err := show(w, runs); err != nil || o.dir == "" {
		return err
	}
	if err := writeSweep(o.dir, runs); err != nil {
		return err
	}
	if !o.asJSON {
		fmt.Fprintln(w, "written to "+filepath.Clean(o.dir))
	}
	return nil
}

// sweepRun is a result whose summary was read; it is empty where the run failed.
type sweepRun struct {
	sweep.Result
	summary results.Summary
}

func sweepRuns(found []sweep.Result) ([]sweepRun, error) {
	runs := make([]sweepRun, len(found))
	for i, r := range found {
		runs[i].Result = r
		if r.Error != "" {
			continue
		}
		if err := json.Unmarshal(r.Summary, &runs[i].summary); err != nil {
			return nil, fmt.Errorf("the summary of run %d: %w", i, err)
		}
	}
	return runs, nil
}

// keys are the parameters of the grid, which all runs have in the same order.
func (r *sweepRun) keys() (keys []string) {
	for _, setting := range r.Settings {
		key, _, _ := strings.Cut(setting, "=")
		keys = append(keys, key)
	}
	return keys
}

// point is the run's values of the parameters, and its seed.
func (r *sweepRun) point() (values []string) {
	for _, setting := range r.Settings {
		_, value, _ := strings.Cut(setting, "=")
		values = append(values, value)
	}
	return append(values, strconv.FormatUint(r.Seed, 10))
}

// writeSweepTable writes a row for each run, for people.
func writeSweepTable(w io.Writer, runs []sweepRun) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(cells []string) { fmt.Fprintln(t, strings.Join(cells, "\t")) }
	line(append(runs[0].keys(), "seed", "done", "failed", "unfinished",
		"FCT mean (µs)", "p99 (µs)", "goodput (Gb/s)", "Jain", "sent again", "dropped"))
	for i := range runs {
		r := &runs[i]
		if r.Error != "" {
			line(append(r.point(), "-", "-", "-", "-", "-", "-", "-", "-", "-", strings.Join(strings.Fields(r.Error), " ")))
			continue
		}
		f := &r.summary.Flows
		mean, p99 := "-", "-"
		if f.Done > 0 {
			mean, p99 = fmt.Sprintf("%.1f", f.FCTUs.Mean), fmt.Sprintf("%.1f", f.FCTUs.P99)
		}
		line(append(r.point(), fmt.Sprintf("%d/%d", f.Done, f.Total-f.Endless), fmt.Sprint(f.Failed), fmt.Sprint(f.Unfinished),
			mean, p99, fmt.Sprintf("%.2f", f.Goodput.TotalBps/1e9), fmt.Sprintf("%.3f", f.Goodput.Jain),
			fmt.Sprint(f.Retransmitted), fmt.Sprint(r.summary.Network.Dropped)))
	}
	return t.Flush()
}

// writeSweep writes the results for programs.
func writeSweep(dir string, runs []sweepRun) error {
	var table, lines strings.Builder
	if err := writeSweepCSV(&table, runs); err != nil {
		return err
	}
	if err := writeJSONLines(&lines, runs); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "runs.csv"), []byte(table.String()), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "runs.jsonl"), []byte(lines.String()), 0o644)
}

func writeJSONLines(w io.Writer, runs []sweepRun) error {
	encoder := json.NewEncoder(w)
	for i := range runs {
		if err := encoder.Encode(runs[i].Result); err != nil {
			return err
		}
	}
	return nil
}

// sweepColumns are those of runs.csv behind the parameters and the seed.
var sweepColumns = []struct {
	name string
	of   func(*results.Summary) any
}{
	{"flows", func(s *results.Summary) any { return s.Flows.Total }},
	{"done", func(s *results.Summary) any { return s.Flows.Done }},
	{"failed", func(s *results.Summary) any { return s.Flows.Failed }},
	{"unfinished", func(s *results.Summary) any { return s.Flows.Unfinished }},
	{"fct_mean_us", ofDone(func(f *results.Flows) float64 { return f.FCTUs.Mean })},
	{"fct_p50_us", ofDone(func(f *results.Flows) float64 { return f.FCTUs.P50 })},
	{"fct_p99_us", ofDone(func(f *results.Flows) float64 { return f.FCTUs.P99 })},
	{"fct_p999_us", ofDone(func(f *results.Flows) float64 { return f.FCTUs.P999 })},
	{"slowdown_mean", ofDone(func(f *results.Flows) float64 { return f.Slowdown.Mean })},
	{"slowdown_p99", ofDone(func(f *results.Flows) float64 { return f.Slowdown.P99 })},
	{"goodput_total_bps", func(s *results.Summary) any { return s.Flows.Goodput.TotalBps }},
	{"goodput_mean_bps", func(s *results.Summary) any { return s.Flows.Goodput.MeanBps }},
	{"goodput_min_bps", func(s *results.Summary) any { return s.Flows.Goodput.MinBps }},
	{"jain", func(s *results.Summary) any { return s.Flows.Goodput.Jain }},
	{"packets", func(s *results.Summary) any { return s.Flows.Packets }},
	{"retransmitted", func(s *results.Summary) any { return s.Flows.Retransmitted }},
	{"timeouts", func(s *results.Summary) any { return s.Flows.Timeouts }},
	{"marked", func(s *results.Summary) any { return s.Network.Marked }},
	{"dropped", func(s *results.Summary) any { return s.Network.Dropped }},
	{"lost", func(s *results.Summary) any { return s.Network.Lost }},
	{"pauses", func(s *results.Summary) any { return s.Network.Pauses }},
	{"peak_queue_bytes", func(s *results.Summary) any { return s.Network.PeakQueueBytes }},
	{"simulated_us", func(s *results.Summary) any { return s.SimulatedUs }},
}

// ofDone leaves the cell empty where no flow is done.
func ofDone(of func(*results.Flows) float64) func(*results.Summary) any {
	return func(s *results.Summary) any {
		if s.Flows.Done == 0 {
			return ""
		}
		return of(&s.Flows)
	}
}

// writeSweepCSV writes a row for each run; of one that failed only the error.
func writeSweepCSV(w io.Writer, runs []sweepRun) error {
	out := csv.NewWriter(w)
	header := append(runs[0].keys(), "seed")
	for _, c := range sweepColumns {
		header = append(header, c.name)
	}
	if err := out.Write(append(header, "error")); err != nil {
		return err
	}
	for i := range runs {
		row := runs[i].point()
		for _, c := range sweepColumns {
			cell := ""
			if runs[i].Error == "" {
				cell = fmt.Sprint(c.of(&runs[i].summary))
			}
			row = append(row, cell)
		}
		if err := out.Write(append(row, runs[i].Error)); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
