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
		Summary: "Each figure was run with braid's own transport in braid's simulator. The table of a figure holds every number " +
			"that the paper publishes beside the one that was measured, with its tolerance; the text below it says what the " +
			"paper did, what we do, where they differ, and which choices were made after results had been seen.",
		Facts: []report.Fact{{Name: "seed", Value: fmt.Sprint(o.Seed)}, {Name: "scale", Value: "full"}},
	}
	if o.Quick {
		r.Notice, r.Tag = quickNotice, "quick run"
		r.Facts[1].Value = "quick"
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

// quickNotice keeps a reader from taking a quick run for the result.
const quickNotice = "**This is a quick run.** Its networks are smaller, its times shorter and its seeds fewer than those of the " +
	"full run. Plots and numbers show the direction of a result and its rough size, and a verdict holds for this run alone. " +
	"The numbers to compare with the papers are those of the full run, at the end of each figure."

func pageOf(f Ran) (report.Figure, error) {
	page := report.Figure{
		ID: f.Figure.Name, Number: number(f.Figure.Section), Title: f.Figure.Title,
		Paper: f.Figure.Paper, Section: f.Figure.Section,
		Texts: texts(f.Figure.README), Table: f.Outcome.Table,
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

// number is what the paper calls the figure: the last part of where it stands.
func number(section string) string {
	if _, number, found := strings.Cut(section, ", figure"); found {
		return "Figure" + number
	}
	return section
}

// headingResult begins the heading of the results in the README of every figure.
const headingResult = "Result"

// texts are the parts of a README. Its results are those of the full run: they
// repeat the table of a full run and differ from that of a quick one, so the
// reader opens them.
func texts(readme string) []report.Text {
	var texts []report.Text
	_, rest, found := strings.Cut(readme, "\n## ")
	for found {
		var part string
		part, rest, found = strings.Cut(rest, "\n## ")
		heading, body, _ := strings.Cut(part, "\n")
		text := report.Text{Heading: heading, Markdown: strings.TrimSpace(body)}
		if after, isResult := strings.CutPrefix(heading, headingResult); isResult {
			text.Heading, text.Folded = "Result of the full run"+after, true
		}
		texts = append(texts, text)
	}
	return texts
}
