package plot

import (
	"math"
	"strings"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	xfont "golang.org/x/image/font"
)

// The size of every chart and of its parts.
const (
	chartWidth  = 16 * vg.Centimeter
	chartHeight = 9 * vg.Centimeter

	margin    = 9 // around everything
	titleSize = 11
	labelSize = 9.5
	tickSize  = 8.5
	smallSize = 7.5 // values on bars and cells

	axisTitleRoom = labelSize * 1.5 // for a title and the space beside it
)

// A frame is a chart that is ready to be drawn: its scales are settled, and its
// marks and its legend are known.
type frame struct {
	title  string
	x, y   scale
	marks  []gonum.Plotter // drawn in this order
	legend []legendEntry
	adjust func(*gonum.Plot) // what only one kind of chart needs
}

// svg draws the frame.
func (f frame) svg() []byte {
	canvas := newCanvas(chartWidth, chartHeight, f.title)
	all := draw.New(canvas)
	all.SetColor(paper)
	all.Fill(all.Rectangle.Path())

	area := draw.Crop(all, margin, -margin, margin, -margin)
	area.Max.Y -= drawTitle(area, f.title)
	area.Max.Y -= drawLegend(area, f.legend)
	outer := area
	if f.x.axis.title() != "" {
		area.Min.Y += axisTitleRoom
	}
	if f.y.axis.title() != "" {
		area.Min.X += axisTitleRoom
	}

	p := f.gonumPlot()
	data := p.DataCanvas(area)
	p.Draw(area)
	drawAxisTitles(outer, data.Rectangle, f.x.axis.title(), f.y.axis.title())
	return canvas.document()
}

// drawAxisTitles writes what the axes measure at the lower and left edge of the
// outer area, centred on the data. Gonum's own axis titles reserve room as if
// they stood in the middle of the values, which on a logarithmic axis is far from
// the middle of the axis.
func drawAxisTitles(outer draw.Canvas, data vg.Rectangle, x, y string) {
	style := textStyle(sans(labelSize))
	style.XAlign, style.YAlign = draw.XCenter, draw.YBottom
	middle := vg.Point{X: (data.Min.X + data.Max.X) / 2, Y: (data.Min.Y + data.Max.Y) / 2}
	outer.FillText(style, vg.Point{X: middle.X, Y: outer.Min.Y}, x)
	style.Rotation = math.Pi / 2
	style.YAlign = draw.YTop
	outer.FillText(style, vg.Point{X: outer.Min.X, Y: middle.Y}, y)
}

// gonumPlot sets up gonum's plot with our scales and looks.
func (f frame) gonumPlot() *gonum.Plot {
	p := gonum.New()
	p.BackgroundColor = nil
	for _, axis := range []*gonum.Axis{&p.X, &p.Y} {
		axis.Tick.Label.Font = sans(tickSize)
		axis.Tick.Label.Color = ink
		axis.Tick.Length = 4
		axis.Tick.LineStyle = draw.LineStyle{Color: faint, Width: 0.6}
		axis.LineStyle = draw.LineStyle{Color: faint, Width: 0.8}
		axis.Padding = 0
	}
	f.x.apply(&p.X)
	f.y.apply(&p.Y)
	if f.adjust != nil {
		f.adjust(p)
	}
	p.Add(f.marks...)
	return p
}

// sans is the font of all text.
func sans(size vg.Length) font.Font {
	return font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, size)
}

func sansBold(size vg.Length) font.Font {
	return font.From(font.Font{Typeface: "Liberation", Variant: "Sans", Weight: xfont.WeightBold}, size)
}

// textStyle is a style that places text by its upper left corner.
func textStyle(f font.Font) text.Style {
	return text.Style{Color: ink, Font: f, XAlign: draw.XLeft, YAlign: draw.YTop, Handler: gonum.DefaultTextHandler}
}

// drawTitle writes the title, over as many lines as it needs, and returns the
// height it took.
func drawTitle(area draw.Canvas, title string) vg.Length {
	if title == "" {
		return 0
	}
	style := textStyle(sansBold(titleSize))
	const leading = titleSize * 1.3
	lines := wrap(title, style, area.Max.X-area.Min.X)
	for i, line := range lines {
		area.FillText(style, vg.Point{X: area.Min.X, Y: area.Max.Y - vg.Length(i)*leading}, line)
	}
	return vg.Length(len(lines))*leading + 4
}

// wrap breaks text after spaces, hyphens and slashes so that no line is wider
// than width, unless a single word is.
func wrap(txt string, style text.Style, width vg.Length) []string {
	var lines []string
	line := ""
	for rest := txt; rest != ""; {
		end := len(rest)
		if i := strings.IndexAny(rest, " -/"); i >= 0 {
			end = i + 1
		}
		word := rest[:end]
		rest = rest[end:]
		if line != "" && style.Width(strings.TrimSpace(line+word)) > width {
			lines = append(lines, strings.TrimSpace(line))
			line = ""
		}
		line += word
	}
	return append(lines, strings.TrimSpace(line))
}

// shorten cuts text to the given width and marks the cut.
func shorten(txt string, style text.Style, width vg.Length) string {
	if style.Width(txt) <= width {
		return txt
	}
	runes := []rune(txt)
	for len(runes) > 1 && style.Width(string(runes)+"…") > width {
		runes = runes[:len(runes)-1]
	}
	return string(runes) + "…"
}

// grid rules the data area at the labelled ticks.
type grid struct{ vertical bool }

// Plot implements gonum's Plotter.
func (g grid) Plot(c draw.Canvas, p *gonum.Plot) {
	style := draw.LineStyle{Color: rule, Width: 0.6}
	toX, toY := p.Transforms(&c)
	for _, tick := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		if !tick.IsMinor() {
			c.StrokeLine2(style, c.Min.X, toY(tick.Value), c.Max.X, toY(tick.Value))
		}
	}
	if !g.vertical {
		return
	}
	for _, tick := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		if !tick.IsMinor() {
			c.StrokeLine2(style, toX(tick.Value), c.Min.Y, toX(tick.Value), c.Max.Y)
		}
	}
}
