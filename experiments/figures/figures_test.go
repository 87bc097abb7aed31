package figures

import (
	"slices"
	"strings"
	"testing"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/report"
	"github.com/braid-rdma/braid/experiments/table"
)

// Every figure says what it is, and its README has the parts that the report shows.
func TestFiguresAreDescribed(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range All() {
		if f.Name == "" || f.Title == "" || f.Paper == "" || f.Section == "" || f.Run == nil {
			t.Errorf("%+v lacks something", f)
		}
		if seen[f.Name] {
			t.Errorf("%s occurs twice", f.Name)
		}
		seen[f.Name] = true
		if found, ok := Named(f.Name); !ok || found.Name != f.Name {
			t.Errorf("%s cannot be found by name", f.Name)
		}
		for _, heading := range []string{"What the paper did", "What we do", "Where they differ", "Result of the full run"} {
			if !slices.ContainsFunc(texts(f.README), func(t report.Text) bool { return strings.HasPrefix(t.Heading, heading) && t.Markdown != "" }) {
				t.Errorf("%s: the README has nothing under %q", f.Name, heading)
			}
		}
	}
	if _, ok := Named("mp-rdma-99"); ok {
		t.Error("a figure that does not exist was found")
	}
}

func TestTextsEndAtTheNextHeading(t *testing.T) {
	got := texts("# F\n\n## What the paper did (§1)\n\nThis.\n\n### How\n\nSo.\n\n## What we do\nThat.\n\n## Result (seed 1)\nHere.\n")
	want := []report.Text{
		{Heading: "What the paper did (§1)", Markdown: "This.\n\n### How\n\nSo."},
		{Heading: "What we do", Markdown: "That."},
		{Heading: "Result of the full run (seed 1)", Markdown: "Here.", Folded: true},
	}
	if !slices.Equal(got, want) {
		t.Errorf("texts %+v, want %+v", got, want)
	}
}

func TestNumberIsThatOfThePaper(t *testing.T) {
	for section, want := range map[string]string{
		"§1 and §5.2.1, figure 1": "Figure 1", "§IV, figures 7 and 10": "Figures 7 and 10", "§4.1": "§4.1",
	} {
		if got := number(section); got != want {
			t.Errorf("%s is %q, want %q", section, got, want)
		}
	}
}

func TestReportHoldsTheRows(t *testing.T) {
	f := All()[0]
	outcome := &figure.Outcome{Table: table.Table{{Figure: "F", Quantity: "goodput of the test", Unit: "Gb/s", Published: 1, Measured: 2, Tolerance: table.Relative(0.1)}}}
	page, err := Report([]Ran{{f, outcome}}, figure.Options{Seed: 7, Quick: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"goodput of the test", f.Title, "This is a quick run", ">quick run<"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
