package plot

import (
	"math"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// groupWidth is the part of a group's width that its bars fill.
const groupWidth = 0.8

// barMarks draws the bars of a chart.
type barMarks struct {
	chart  Bars
	labels [][]string // by series and group
}

// barNotes draws what stands on the bars and on the lines across them: whiskers,
// published numbers and labels.
type barNotes struct{ barMarks }

// Plot implements gonum's Plotter.
func (m barMarks) Plot(c draw.Canvas, p *gonum.Plot) {
	base := m.eachBar(c, p, func(series, _ int, bar vg.Rectangle) {
		gap := min(1, (bar.Max.X-bar.Min.X)*0.08)
		bar.Min.X += gap
		bar.Max.X -= gap
		c.SetColor(m.chart.Series[series].Colour.resolve(series))
		c.Fill(bar.Path())
	})
	c.StrokeLine2(draw.LineStyle{Color: faint, Width: 0.8}, c.Min.X, base, c.Max.X, base)
}

// eachBar yields the place of each bar, of no height where the value is missing,
// and returns the height at which they stand.
func (m barMarks) eachBar(c draw.Canvas, p *gonum.Plot, yield func(series, group int, bar vg.Rectangle)) (base vg.Length) {
	toX, toY := p.Transforms(&c)
	base = toY(math.Min(math.Max(0, p.Y.Min), p.Y.Max))
	width := m.width()
	for i, s := range m.chart.Series {
		for group, value := range s.Values {
			end := base
			if !isMissing(value) {
				end = min(max(toY(value), c.Min.Y), c.Max.Y)
			}
			left := float64(group) - groupWidth/2 + width*float64(i)
			yield(i, group, vg.Rectangle{
				Min: vg.Point{X: toX(left), Y: min(base, end)},
				Max: vg.Point{X: toX(left + width), Y: max(base, end)},
			})
		}
	}
	return base
}

// width is that of a bar, as a part of a group.
func (m barMarks) width() float64 { return groupWidth / float64(len(m.chart.Series)) }

// Plot implements gonum's Plotter.
func (m barNotes) Plot(c draw.Canvas, p *gonum.Plot) {
	toX, toY := p.Transforms(&c)
	labelled := m.labelsFit(toX(m.width()) - toX(0))
	m.eachBar(c, p, func(series, group int, bar vg.Rectangle) {
		s := m.chart.Series[series]
		middle, top := (bar.Min.X+bar.Max.X)/2, bar.Max.Y
		if whisker, ok := m.drawWhisker(c, s, group, middle, toY); ok {
			top = max(top, whisker)
		}
		if s.Published != nil && !isMissing(s.Published[group]) {
			at := vg.Point{X: middle, Y: toY(s.Published[group])}
			if c.Contains(at) {
				drawHollowDiamond(c, at)
			}
			// A diamond near the top of the bar pushes the label above it; one
			// far above leaves the label where the bar ends.
			if at.Y+5 > top && at.Y-smallSize-8 < top {
				top = at.Y + 5
			}
		}
		if labelled && m.labels[series][group] != "" && c.ContainsY(top) {
			drawValue(c, vg.Point{X: middle, Y: top + 1}, m.labels[series][group])
		}
	})
}

// drawWhisker draws the spread of one bar and returns the height of its upper
// end.
func (m barMarks) drawWhisker(c draw.Canvas, s BarSeries, group int, x vg.Length, toY func(float64) vg.Length) (vg.Length, bool) {
	if s.Low == nil || s.High == nil || isMissing(s.Low[group]) || isMissing(s.High[group]) {
		return 0, false
	}
	const cap = 2.5
	low := min(max(toY(s.Low[group]), c.Min.Y), c.Max.Y)
	high := min(max(toY(s.High[group]), c.Min.Y), c.Max.Y)
	style := draw.LineStyle{Color: ink, Width: 0.9}
	c.StrokeLine2(style, x, low, x, high)
	c.StrokeLine2(style, x-cap, low, x+cap, low)
	c.StrokeLine2(style, x-cap, high, x+cap, high)
	return high, true
}

// drawValue writes a number above a bar, on a piece of paper of its own, so that
// lines behind it do not strike it through.
func drawValue(c draw.Canvas, bottom vg.Point, label string) {
	style := textStyle(sans(smallSize))
	style.XAlign, style.YAlign = draw.XCenter, draw.YBottom
	half := style.Width(label)/2 + 0.5
	c.SetColor(paper)
	c.Fill(vg.Rectangle{
		Min: vg.Point{X: bottom.X - half, Y: bottom.Y + 0.5},
		Max: vg.Point{X: bottom.X + half, Y: bottom.Y + smallSize + 1},
	}.Path())
	c.FillText(style, bottom, label)
}

// labelsFit tells whether every label is narrower than a bar: all are drawn or
// none.
func (m barMarks) labelsFit(width vg.Length) bool {
	style := textStyle(sans(smallSize))
	for _, series := range m.labels {
		for _, label := range series {
			if style.Width(label) > width-1 {
				return false
			}
		}
	}
	return true
}

// entries names the series, and the diamonds if there are any.
func (m barMarks) entries() []legendEntry {
	var entries []legendEntry
	published := false
	for i, s := range m.chart.Series {
		colour := s.Colour.resolve(i)
		entries = addEntry(entries, legendEntry{name: s.Name, thumbnail: func(c draw.Canvas) {
			box := c.Rectangle
			box.Min = vg.Point{X: c.Max.X - 11, Y: c.Center().Y - 4}
			box.Max = vg.Point{X: c.Max.X, Y: c.Center().Y + 4}
			c.SetColor(colour)
			c.Fill(box.Path())
		}})
		for _, v := range s.Published {
			published = published || !isMissing(v)
		}
	}
	if published {
		entries = addEntry(entries, legendEntry{name: publishedName, thumbnail: func(c draw.Canvas) {
			drawHollowDiamond(c, c.Center())
		}})
	}
	return entries
}
