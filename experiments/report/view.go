package report

import (
	"embed"
	"fmt"
	"html/template"
	"regexp"

	"github.com/braid-rdma/braid/experiments/table"
)

//go:embed page.html page.css
var files embed.FS

var page = template.Must(template.New("page.html").ParseFS(files, "page.html"))

// pageView is what the template sees.
type pageView struct {
	Title    string
	Style    template.CSS
	Summary  []string // paragraphs
	Facts    []Fact
	Verdicts []verdictView
	All      template.HTML // the table of all figures; empty without rows
	Papers   []paperView
}

// paperView is the figures of one paper.
type paperView struct {
	Name    string
	Figures []figureView
}

type figureView struct {
	ID, Title, Paper, Section string
	Texts                     []textView
	Pictures                  []pictureView
	Table                     template.HTML
	Facts                     []Fact
	Within, Outside           int
}

type textView struct {
	Heading    string
	Paragraphs []string
}

type pictureView struct {
	SVG     template.HTML
	Caption string
}

// verdictView is how many rows have a verdict.
type verdictView struct {
	Name  string
	Class string
	Count int
}

// view checks the report and prepares it for the template.
func (r Report) view() (pageView, error) {
	if len(r.Figures) == 0 {
		return pageView{}, ErrEmpty
	}
	style, err := files.ReadFile("page.css")
	if err != nil {
		return pageView{}, err
	}
	view := pageView{Title: r.Title, Style: template.CSS(style), Summary: paragraphs(r.Summary), Facts: r.Facts}
	var all table.Table
	taken := map[string]bool{}
	for _, f := range r.Figures {
		if err := checkID(f.ID); err != nil {
			return view, err
		}
		if taken[f.ID] {
			return view, fmt.Errorf("two figures are called %q: %w", f.ID, ErrID)
		}
		taken[f.ID] = true
		figure, err := f.view()
		if err != nil {
			return view, fmt.Errorf("figure %q: %w", f.ID, err)
		}
		view.addFigure(figure)
		all = append(all, f.Table...)
	}
	if len(all) > 0 {
		view.All = all.HTML()
	}
	for _, v := range table.Verdicts() {
		if n := all.Count(v); n > 0 {
			view.Verdicts = append(view.Verdicts, verdictView{Name: v.String(), Class: v.Class(), Count: n})
		}
	}
	return view, nil
}

// addFigure puts a figure with the others of its paper; papers stand in the order
// in which they first come.
func (v *pageView) addFigure(f figureView) {
	for i := range v.Papers {
		if v.Papers[i].Name == f.Paper {
			v.Papers[i].Figures = append(v.Papers[i].Figures, f)
			return
		}
	}
	v.Papers = append(v.Papers, paperView{Name: f.Paper, Figures: []figureView{f}})
}

func (f Figure) view() (figureView, error) {
	view := figureView{
		ID: f.ID, Title: f.Title, Paper: f.Paper, Section: f.Section, Facts: f.Facts,
		Within: f.Table.Count(table.Within), Outside: f.Table.Count(table.Outside),
	}
	for _, text := range []textView{
		{"What the paper did", paragraphs(f.PaperDid)},
		{"What we do", paragraphs(f.WeDo)},
		{"Where the two differ", paragraphs(f.Differences)},
	} {
		if len(text.Paragraphs) > 0 {
			view.Texts = append(view.Texts, text)
		}
	}
	for i, picture := range f.Pictures {
		svg, err := inlineSVG(picture.SVG)
		if err != nil {
			return view, fmt.Errorf("picture %d: %w", i, err)
		}
		view.Pictures = append(view.Pictures, pictureView{SVG: svg, Caption: picture.Caption})
	}
	if len(f.Table) > 0 {
		view.Table = f.Table.HTML()
	}
	return view, nil
}

var emptyLines = regexp.MustCompile(`\s*\n\s*\n\s*`)

// paragraphs parts text at its empty lines.
func paragraphs(text string) []string {
	var parts []string
	for _, part := range emptyLines.Split(text, -1) {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}
