package figures

import (
	"fmt"
	"strings"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/report"
)

// Ran is a figure that has been run.
type Ran struct {
	Figure  *figure.Figure
	Outcome *figure.Outcome
}

// Report makes one HTML page of figures that have been run.
func Report(ran []Ran, o figure.Options) ([]byte, error) {
	r := report.Report{
		Title: "The papers' figures, reproduced",
		Summary: "Each figure was run with braid's own transport in braid's simulator. The table holds every number that " +
			"the papers publish beside the one that was measured, with its tolerance; the README of a figure says which choices were made after results had been seen.",
		Facts: []report.Fact{{Name: "seed", Value: fmt.Sprint(o.Seed)}, {Name: "scale", Value: scale(o)}},
	}
	for _, f := range ran {
		page, err := pageOf(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Figure.Name, err)
		}
		r.Figures = append(r.Figures, page)
	}
	return r.HTML()
}

func scale(o figure.Options) string {
	if o.Quick {
		return "quick: smaller than the papers"
	}
	return "full"
}

func pageOf(f Ran) (report.Figure, error) {
	did, do, differ := sections(f.Figure.README)
	page := report.Figure{
		ID: f.Figure.Name, Title: f.Figure.Title, Paper: f.Figure.Paper, Section: f.Figure.Section,
		PaperDid: did, WeDo: do, Differences: differ, Table: f.Outcome.Table,
		Facts: []report.Fact{
			{Name: "packet hops", Value: fmt.Sprint(f.Outcome.Hops)},
			{Name: "simulated", Value: f.Outcome.Simulated.String()},
		},
	}
	for _, note := range f.Outcome.Notes {
		page.Facts = append(page.Facts, report.Fact{Name: "note", Value: note})
	}
	for _, p := range f.Outcome.Plots {
		svg, err := p.Chart.SVG()
		if err != nil {
			return page, fmt.Errorf("plot %s: %w", p.Name, err)
		}
		page.Pictures = append(page.Pictures, report.Picture{SVG: svg, Caption: p.Title})
	}
	return page, nil
}

// The headings that the README of every figure has.
const (
	headingDid    = "## What the paper did"
	headingDo     = "## What we do"
	headingDiffer = "## Where they differ"
)

// sections takes the three parts that the report shows out of a README.
func sections(readme string) (did, do, differ string) {
	return section(readme, headingDid), section(readme, headingDo), section(readme, headingDiffer)
}

// section returns the text under the heading that begins so, up to the next one.
func section(readme, heading string) string {
	_, rest, found := strings.Cut(readme, "\n"+heading)
	if !found {
		return ""
	}
	_, rest, _ = strings.Cut(rest, "\n") // the heading may go on
	text, _, _ := strings.Cut(rest, "\n## ")
	return strings.TrimSpace(text)
}
