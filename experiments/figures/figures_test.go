package figures

import (
	"strings"
	"testing"

	"github.com/braid-rdma/braid/experiments/figure"
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
		did, do, differ := sections(f.README)
		for heading, text := range map[string]string{headingDid: did, headingDo: do, headingDiffer: differ} {
			if text == "" {
				t.Errorf("%s: the README has nothing under %q", f.Name, heading)
			}
		}
	}
	if _, ok := Named("mp-rdma-99"); ok {
		t.Error("a figure that does not exist was found")
	}
}

func TestSectionEndsAtTheNextHeading(t *testing.T) {
	did, do, differ := sections("# F\n\n## What the paper did (§1)\n\nThis.\n\n### How\n\nSo.\n\n## What we do\nThat.\n\n## Where they differ\nHere.\n")
	if did != "This.\n\n### How\n\nSo." || do != "That." || differ != "Here." {
		t.Errorf("sections %q, %q, %q", did, do, differ)
	}
}

func TestReportHoldsTheRows(t *testing.T) {
	f := All()[0]
	outcome := &figure.Outcome{Table: table.Table{{Figure: "F", Quantity: "goodput of the test", Unit: "Gb/s", Published: 1, Measured: 2, Tolerance: table.Relative(0.1)}}}
	page, err := Report([]Ran{{f, outcome}}, figure.Options{Seed: 7, Quick: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"goodput of the test", f.Title, "quick"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
