package report

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/braid-rdma/braid/experiments/table"
)

// Errors that can be told apart with errors.Is.
var (
	// ErrEmpty means that the report has no figures.
	ErrEmpty = errors.New("no figures")
	// ErrID means that the identifier of a figure is missing, malformed or taken.
	ErrID = errors.New("bad identifier")
	// ErrPicture means that a picture is not an SVG document that is safe in a
	// page.
	ErrPicture = errors.New("bad picture")
)

// A Report is the whole page.
type Report struct {
	Title   string
	Summary string // Markdown
	// Notice, if any, stands above everything else, in Markdown, and Tag beside the
	// title of each figure and below each picture: what a reader must not miss who
	// looks at only one of them, such as that the run was a quick one.
	Notice, Tag string
	Facts       []Fact // about the whole run
	Figures     []Figure
}

// A Figure is one figure of a paper and what became of it.
type Figure struct {
	// ID names the figure in links: lower-case letters, digits and hyphens.
	ID      string
	Number  string // what the paper calls it, such as "Figure 12b"
	Title   string
	Paper   string // such as "MP-RDMA, NSDI 2018"
	Section string // where in the paper, such as "5.1.2, figure 12b"

	Texts    []Text
	Pictures []Picture
	Table    table.Table
	Facts    []Fact // about the run: seed, scale, events per second
}

// A Text is a part of what is written about a figure.
type Text struct {
	Heading  string
	Markdown string
	Folded   bool // the reader opens it
}

// A Picture is one plot.
type Picture struct {
	SVG     []byte // a whole document, as package plot makes it
	Caption string
}

// A Fact is a name and a value, such as "seed" and "1".
type Fact struct{ Name, Value string }

// HTML returns the page. The same report gives the same bytes.
func (r Report) HTML() ([]byte, error) {
	view, err := r.view()
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	var out bytes.Buffer
	if err := page.Execute(&out, view); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return out.Bytes(), nil
}

// checkID tells whether the identifier can stand in a link.
func checkID(id string) error {
	if id == "" || strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return fmt.Errorf("%q: %w", id, ErrID)
	}
	return nil
}
