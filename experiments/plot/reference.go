package plot

import (
	"fmt"
	"slices"
	"strings"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A Reference is a value to compare the data with: usually what a paper
// published.
type Reference struct {
	// Name is in the legend; equal names share an entry. Lines whose name begins with
	// "published" are drawn darker than others.
	Name string
	Kind ReferenceKind
	X, Y float64 // Kind says which of them count
}

// A ReferenceKind is how a reference is drawn.
type ReferenceKind int

// The kinds of reference.
const (
	AtY     ReferenceKind = iota // a dashed line across at Y
	AtX                          // a dashed line upwards at X
	AtPoint                      // a hollow diamond at (X, Y)
)

func (r Reference) check(x, y Axis) error {
	if r.Kind != AtY {
		if err := x.check(r.X); err != nil {
			return fmt.Errorf("reference %q, x=%v: %w", r.Name, r.X, err)
		}
	}
	if r.Kind != AtX {
		if err := y.check(r.Y); err != nil {
			return fmt.Errorf("reference %q, y=%v: %w", r.Name, r.Y, err)
		}
	}
	return nil
}

// include widens the extents so that the reference is visible.
func (r Reference) include(x, y *extent) {
	if r.Kind != AtY {
		x.include(r.X)
	}
	if r.Kind != AtX {
		y.include(r.Y)
	}
}

// referenceMarks draws one reference; turn tells apart the dashes of lines with
// different names.
type referenceMarks struct {
	Reference
	turn int
}

func (m referenceMarks) line() draw.LineStyle {
	patterns := [][]vg.Length{{6, 3}, {2, 2}, {8, 3, 2, 3}}
	style := draw.LineStyle{Color: faint, Width: 1, Dashes: patterns[m.turn%len(patterns)]}
	// What a paper published must not look like a remark of ours.
	if strings.HasPrefix(m.Name, publishedName) {
		style.Color, style.Width = ink, 1.4
	}
	return style
}

// Plot implements gonum's Plotter.
func (m referenceMarks) Plot(c draw.Canvas, p *gonum.Plot) {
	toX, toY := p.Transforms(&c)
	switch m.Kind {
	case AtX:
		if x := toX(m.X); c.ContainsX(x) {
			c.StrokeLine2(m.line(), x, c.Min.Y, x, c.Max.Y)
		}
	case AtPoint:
		if at := (vg.Point{X: toX(m.X), Y: toY(m.Y)}); c.Contains(at) {
			drawHollowDiamond(c, at)
		}
	default:
		if y := toY(m.Y); c.ContainsY(y) {
			c.StrokeLine2(m.line(), c.Min.X, y, c.Max.X, y)
		}
	}
}

func (m referenceMarks) entry() legendEntry {
	return legendEntry{name: m.Name, thumbnail: func(c draw.Canvas) {
		middle := c.Center()
		switch m.Kind {
		case AtX:
			c.StrokeLine2(m.line(), middle.X, c.Min.Y, middle.X, c.Max.Y)
		case AtPoint:
			drawHollowDiamond(c, middle)
		default:
			c.StrokeLine2(m.line(), c.Min.X, middle.Y, c.Max.X, middle.Y)
		}
	}}
}

// addReferences puts references on top of the other marks of a frame. Lines of
// the same name share their dashes, as they share their entry in the legend.
func (f *frame) addReferences(references []Reference) {
	var names []string
	for _, r := range references {
		marks := referenceMarks{Reference: r}
		if r.Kind != AtPoint {
			marks.turn = slices.Index(names, r.Name)
			if marks.turn < 0 {
				marks.turn = len(names)
				names = append(names, r.Name)
			}
		}
		f.marks = append(f.marks, marks)
		f.legend = addEntry(f.legend, marks.entry())
	}
}
