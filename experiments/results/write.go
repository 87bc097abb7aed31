package results

import (
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/braid-rdma/braid/experiments/export"
	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/sim"
)

// Write writes the results of a run into a directory, which it makes: summary.json,
// flows, links and what the scenario measures as CSV and Parquet, and pictures of
// completion times and of series as SVG. The same scenario gives the same bytes.
func Write(dir string, run *scenario.Run) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("results: %w", err)
	}
	w := writer{dir: dir, run: run, results: flowResults(run)}
	// The summary comes last: where it is, everything is.
	for _, write := range []func() error{w.flows, w.links, w.series, w.paths, w.degrees, w.pictures, w.summary} {
		if err := write(); err != nil {
			return fmt.Errorf("results: %w", err)
		}
	}
	return nil
}

type writer struct {
	dir     string
	run     *scenario.Run
	results []sim.FlowResult
}

func (w writer) flows() error {
	return table(w.dir, "flows", func(yield func(FlowRow) bool) {
		for i := range w.results {
			if !yield(flowRow(w.run.Flows[i], &w.results[i], w.run.Now())) {
				return
			}
		}
	})
}

func (w writer) summary() error {
	s := summarise(w.run, w.results)
	s.Cost = nil
	return os.WriteFile(filepath.Join(w.dir, "summary.json"), s.JSON(), 0o644)
}

func (w writer) links() error {
	return table(w.dir, "links", func(yield func(LinkRow) bool) {
		for _, l := range w.run.Net.Links() {
			if !yield(linkRow(&l, w.run.Now())) {
				return
			}
		}
	})
}

func (w writer) series() error {
	samples := &w.run.Samples
	if len(samples.Series) == 0 {
		return nil
	}
	return table(w.dir, "series", func(yield func(SampleRow) bool) {
		for i, at := range samples.Times {
			for _, s := range samples.Series {
				if !yield(SampleRow{at.Microseconds(), s.Metric, s.Subject, s.Values[i]}) {
					return
				}
			}
		}
	})
}

// paths writes the paths of the flows that the scenario measures: those of all
// would be most of the output.
func (w writer) paths() error {
	measured := w.run.Scenario.Measure.Flows
	if len(measured) == 0 {
		return nil
	}
	return table(w.dir, "paths", func(yield func(PathRow) bool) {
		for _, number := range measured {
			for path, p := range w.run.Flows[number].State().Paths {
				row := PathRow{
					Flow: number, Path: path, Sent: int64(p.Sent), Acknowledged: int64(p.Acknowledged), Lost: int64(p.Lost), Marked: int64(p.Marked),
					Bytes: int64(p.Bytes), RTTUs: float64(p.SmoothedRTT) / 1000, Retired: p.Retired,
				}
				if !yield(row) {
					return
				}
			}
		}
	})
}

func (w writer) degrees() error {
	if len(w.run.Degrees) == 0 {
		return nil
	}
	return table(w.dir, "degrees", func(yield func(DegreeRow) bool) {
		for _, name := range slices.Sorted(maps.Keys(w.run.Degrees)) {
			for degree, packets := range w.run.Degrees[name].Counts() {
				if packets > 0 && !yield(DegreeRow{name, degree, int64(packets)}) {
					return
				}
			}
		}
	})
}

// table writes rows as CSV and as Parquet.
func table[T any](dir, name string, rows iter.Seq[T]) error {
	base := filepath.Join(dir, name)
	return export.Write(rows, base+".csv", base+".parquet")
}
