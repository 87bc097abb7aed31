package figures

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/plot"
	"github.com/braid-rdma/braid/experiments/table"
	"github.com/braid-rdma/braid/internal/browser"
)

// TestReportInABrowser looks at the report as its reader does. BRAID_REPORT names
// one that was written, beside the directories of its figures; without it, every figure has its own
// texts, and plots and rows that stand for those of a run.
func TestReportInABrowser(t *testing.T) {
	page, shown, err := reportToLookAt()
	if err != nil {
		t.Fatal(err)
	}
	views, err := browser.Look(t.Context(), t.TempDir(), page, 1280, 390)
	if errors.Is(err, browser.ErrMissing) {
		t.Skipf("SKIPPED: TestReportInABrowser: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range views {
		if v.Content > v.Width {
			t.Errorf("at %d pixels the page is %d wide: %q", v.Width, v.Content, v.Wide)
		}
		if v.Pictures < len(shown) || len(v.Broken) > 0 {
			t.Errorf("at %d pixels %d pictures for %d figures, broken: %q", v.Width, v.Pictures, len(shown), v.Broken)
		}
		for line := range strings.Lines(v.Text) {
			if isMarkdown(line) {
				t.Errorf("at %d pixels the reader sees Markdown: %s", v.Width, line)
			}
		}
		for _, f := range shown {
			if !strings.Contains(v.Text, number(f.Section)) || !strings.Contains(v.Text, f.Title) {
				t.Errorf("at %d pixels the reader does not see %s, %s", v.Width, number(f.Section), f.Title)
			}
		}
	}
}

func reportToLookAt() (page []byte, shown []*figure.Figure, err error) {
	if file := os.Getenv("BRAID_REPORT"); file != "" {
		page, err = os.ReadFile(file)
		for _, f := range All() {
			if _, missing := os.Stat(filepath.Join(filepath.Dir(file), f.Name)); missing == nil {
				shown = append(shown, f)
			}
		}
		if len(shown) == 0 {
			err = errors.Join(err, fmt.Errorf("there is no figure beside %s", file))
		}
		return page, shown, err
	}
	outcome := &figure.Outcome{
		Plots: []figure.Plot{
			{Title: "Bars", Chart: plot.Bars{Groups: []string{"a"}, Series: []plot.BarSeries{{Values: []float64{1}}}}},
			{Title: "Line", Chart: plot.Line{Series: []plot.Series{{Points: []plot.Point{{X: 1, Y: 1}, {X: 2, Y: 2}}}}}},
		},
		Table: table.Table{{
			Figure: "data-partition-7-10", Quantity: "99.9th percentile of the out-of-order degree, link degradation, path 4 still mis-configured",
			Unit: "of the formula", Published: 20.6396, Measured: 29.5385, Tolerance: table.Relative(0.1), Note: "the smallest chunk, 1K or in quick runs 2K, is published as the best",
		}},
		Notes: []string{"Quick runs transfer 4 MiB, most of them in part, and give the time in proportion to 10 MiB."},
	}
	var ran []Ran
	for _, f := range All() {
		ran = append(ran, Ran{f, outcome})
	}
	page, err = Report(ran, figure.Options{Seed: 1, Quick: true})
	return page, All(), err
}

// isMarkdown says whether a line that should have been rendered was not.
func isMarkdown(line string) bool {
	for _, mark := range []string{"**", "](", "`", "|--", "| --"} {
		if strings.Contains(line, mark) {
			return true
		}
	}
	for _, mark := range []string{"# ", "## ", "### ", "- ", "| "} {
		if strings.HasPrefix(line, mark) {
			return true
		}
	}
	return false
}
