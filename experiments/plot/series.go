package plot

import (
	"fmt"
	"image/color"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A Series is one line of a chart.
type Series struct {
	Name   string // in the legend; empty leaves it out
	Points []Point
	// Band is shaded behind the line, such as the spread over seeds.
	Band  []Interval
	Style Style
}

// An Interval is the height of a band at one place.
type Interval struct{ X, Low, High float64 }

// A Style says how a series looks. The zero value is a solid line whose colour
// and marker follow from the order of the series.
type Style struct {
	Colour Colour
	Stroke Stroke
	Marker Marker
	// Step holds each value until the next point, for what changes in jumps:
	// queue lengths, windows, distributions.
	Step bool
}

// A Stroke is the kind of line.
type Stroke int

// The kinds of line.
const (
	Solid Stroke = iota
	Dashed
	Dotted
	NoStroke
)

func (s Stroke) dashes() []vg.Length {
	switch s {
	case Dashed:
		return []vg.Length{5, 3}
	case Dotted:
		return []vg.Length{1.5, 2.5}
	default:
		return nil
	}
}

const (
	lineWidth    = 1.6
	markerRadius = 3
	bandOpacity  = 0.18
	// fewPoints is up to how many points of a series each get a marker when the
	// chart chooses.
	fewPoints = 40
)

// check reports the first value of the series that the axes cannot show.
func (s Series) check(x, y Axis) error {
	if len(s.Points) == 0 && len(s.Band) == 0 {
		return fmt.Errorf("series %q: %w", s.Name, ErrEmpty)
	}
	if err := checkPoints(s.Name, s.Points, x, y); err != nil {
		return err
	}
	for i, b := range s.Band {
		if b.High < b.Low {
			return fmt.Errorf("series %q, band %d from %v to %v: %w", s.Name, i, b.Low, b.High, ErrShape)
		}
		if err := checkPoints(s.Name+" band", []Point{{b.X, b.Low}, {b.X, b.High}}, x, y); err != nil {
			return err
		}
	}
	return nil
}

// include widens the extents to hold the series.
func (s Series) include(x, y *extent) {
	for _, p := range s.Points {
		x.include(p.X)
		y.include(p.Y)
	}
	for _, b := range s.Band {
		x.include(b.X)
		y.include(b.Low)
		y.include(b.High)
	}
}

// seriesMarks draws a series whose style is resolved.
type seriesMarks struct {
	Series
	colour color.Color
	line   draw.LineStyle
	marker Marker
}

// resolve settles the looks of the series at the given place in the chart.
// Beyond the end of the palette colours come again with dashed lines.
func (s Series) resolve(order int, fewEnough bool) seriesMarks {
	m := seriesMarks{Series: s, colour: s.Style.Colour.resolve(order), marker: s.Style.Marker.resolve(order)}
	if s.Style.Marker == AutoMarker && !fewEnough {
		m.marker = NoMarker
	}
	stroke := s.Style.Stroke
	if stroke == Solid && order >= paletteSize {
		stroke = Dashed
	}
	if stroke != NoStroke {
		m.line = draw.LineStyle{Color: m.colour, Width: lineWidth, Dashes: stroke.dashes()}
	}
	return m
}

// Plot implements gonum's Plotter: the band, the line, then the markers.
func (m seriesMarks) Plot(c draw.Canvas, p *gonum.Plot) {
	toX, toY := p.Transforms(&c)
	if len(m.Band) > 0 {
		m.drawBand(c, toX, toY)
	}
	points := make([]vg.Point, 0, len(m.Points))
	for _, point := range m.Points {
		points = append(points, vg.Point{X: toX(point.X), Y: toY(point.Y)})
	}
	if m.line.Width > 0 {
		path := points
		if m.Style.Step {
			path = steps(points)
		}
		c.StrokeLines(m.line, c.ClipLinesXY(thin(path))...)
	}
	for _, point := range points {
		if c.Contains(point) {
			drawMarker(c, m.marker, m.colour, point)
		}
	}
}

func (m seriesMarks) drawBand(c draw.Canvas, toX, toY func(float64) vg.Length) {
	low := make([]vg.Point, 0, len(m.Band))
	high := make([]vg.Point, 0, len(m.Band))
	for _, b := range m.Band {
		low = append(low, vg.Point{X: toX(b.X), Y: toY(b.Low)})
		high = append(high, vg.Point{X: toX(b.X), Y: toY(b.High)})
	}
	if m.Style.Step {
		low, high = steps(low), steps(high)
	}
	outline := thin(high)
	back := thin(low)
	for i := len(back) - 1; i >= 0; i-- {
		outline = append(outline, back[i])
	}
	c.FillPolygon(translucent(m.colour, bandOpacity), c.ClipPolygonXY(outline))
}

// entry is the series in the legend.
func (m seriesMarks) entry() legendEntry {
	return legendEntry{name: m.Name, thumbnail: func(c draw.Canvas) {
		middle := c.Center()
		if len(m.Band) > 0 {
			c.SetColor(translucent(m.colour, bandOpacity))
			c.Fill(c.Rectangle.Path())
		}
		if m.line.Width > 0 {
			c.StrokeLine2(m.line, c.Min.X, middle.Y, c.Max.X, middle.Y)
		}
		drawMarker(c, m.marker, m.colour, middle)
	}}
}
