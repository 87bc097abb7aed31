package report

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"slices"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"github.com/braid-rdma/braid/experiments/table"
)

//go:embed page.html page.css
var files embed.FS

var page = template.Must(template.New("page.html").ParseFS(files, "page.html"))

// pageView is what the template sees.
type pageView struct {
	Title    string
	Style    template.CSS
	Summary  template.HTML
	Notice   template.HTML
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
	ID, Number, Title, Paper, Section, Tag string
	Texts                                  []textView
	Pictures                               []pictureView
	Table                                  template.HTML
	Facts                                  []Fact
	Within, Outside                        int
}

type textView struct {
	Heading string
	HTML    template.HTML
	Folded  bool
}

type pictureView struct {
	SVG          template.HTML
	Caption, Tag string
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
	view := pageView{Title: r.Title, Style: template.CSS(style), Facts: r.Facts}
	if view.Summary, err = markdown(r.Summary); err != nil {
		return view, err
	}
	if view.Notice, err = markdown(r.Notice); err != nil {
		return view, err
	}
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
		figure, err := f.view(r.Tag)
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

func (f Figure) view(tag string) (figureView, error) {
	view := figureView{
		ID: f.ID, Number: f.Number, Title: f.Title, Paper: f.Paper, Section: f.Section, Tag: tag, Facts: f.Facts,
		Within: f.Table.Count(table.Within), Outside: f.Table.Count(table.Outside),
	}
	for _, text := range f.Texts {
		html, err := markdown(text.Markdown)
		if err != nil {
			return view, fmt.Errorf("text %q: %w", text.Heading, err)
		}
		view.Texts = append(view.Texts, textView{text.Heading, html, text.Folded})
	}
	for i, picture := range f.Pictures {
		svg, err := inlineSVG(picture.SVG)
		if err != nil {
			return view, fmt.Errorf("picture %d: %w", i, err)
		}
		view.Pictures = append(view.Pictures, pictureView{svg, picture.caption(), tag})
	}
	if len(f.Table) > 0 {
		view.Table = f.ownTable().HTML()
	}
	return view, nil
}

// caption is the caption, unless the picture itself has it as its title.
func (p Picture) caption() string {
	if bytes.Contains(p.SVG, []byte(`aria-label="`+template.HTMLEscapeString(p.Caption)+`"`)) {
		return ""
	}
	return p.Caption
}

// ownTable is the table where it stands in the figure's section, whose name need
// not stand in each row.
func (f Figure) ownTable() table.Table {
	rows := slices.Clone(f.Table)
	for i := range rows {
		rows[i].Figure = ""
	}
	return rows
}

// markdown renders text with tables as GitHub has them. Raw HTML in it is left
// out, so that text cannot run a script.
func markdown(text string) (template.HTML, error) {
	var out bytes.Buffer
	if err := renderer.Convert([]byte(text), &out); err != nil {
		return "", err
	}
	return template.HTML(out.String()), nil
}

var renderer = goldmark.New(goldmark.WithExtensions(extension.Table))
