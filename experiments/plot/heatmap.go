package plot

import (
	"fmt"
	"image/color"
	"math"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A HeatMap draws a sweep over two parameters: a field for each pair, coloured
// and, where it has room, labelled by its value.
type HeatMap struct {
	Title   string
	X, Y    Axis     // only Label and Unit count
	Columns []string // from left to right
	Rows    []string // from the bottom upwards
	// Cells holds a value for each row and column, Cells[row][column]; Missing
	// leaves a field empty.
	Cells [][]float64
	Value Axis // what the colours mean
}

// SVG implements [Chart].
func (h HeatMap) SVG() ([]byte, error) {
	svg, err := h.svg()
	return svg, inChart(h.Title, err)
}

func (h HeatMap) svg() ([]byte, error) {
	values, err := h.check()
	if err != nil {
		return nil, err
	}
	shades, err := h.Value.settle(values, verticalTicks)
	if err != nil {
		return nil, err
	}
	if !h.Value.Log && h.Value.Min == 0 && h.Value.Max == 0 && values.low < values.high {
		// Colours, unlike bars, have no zero: the whole range goes to the data.
		shades, err = (Axis{Label: h.Value.Label, Unit: h.Value.Unit}).settleTight(values)
		if err != nil {
			return nil, err
		}
	}
	marks := cellMarks{chart: h, shades: shades}
	f := frame{
		title:      h.Title,
		x:          categories(h.X, h.Columns),
		y:          categories(h.Y, h.Rows),
		marks:      []gonum.Plotter{marks},
		adjust:     fitCategories,
		aside:      func(strip draw.Canvas) { drawColourBar(strip, shades) },
		asideWidth: 66,
	}
	return f.svg(), nil
}

// settleTight gives the scale exactly the range of the data, with ticks inside.
func (a Axis) settleTight(data extent) (scale, error) {
	s := scale{axis: a, min: data.low, max: data.high}
	s.settleLinear(false, false, verticalTicks)
	return s, nil
}

func (h HeatMap) check() (extent, error) {
	var values extent
	if len(h.Columns) == 0 || len(h.Rows) == 0 {
		return values, ErrEmpty
	}
	if len(h.Cells) != len(h.Rows) {
		return values, fmt.Errorf("%d rows of cells for %d names: %w", len(h.Cells), len(h.Rows), ErrShape)
	}
	for row, cells := range h.Cells {
		if len(cells) != len(h.Columns) {
			return values, fmt.Errorf("row %q has %d cells for %d columns: %w", h.Rows[row], len(cells), len(h.Columns), ErrShape)
		}
		for column, v := range cells {
			if isMissing(v) {
				continue
			}
			if err := h.Value.check(v); err != nil {
				return values, fmt.Errorf("row %q, column %q, %v: %w", h.Rows[row], h.Columns[column], v, err)
			}
			values.include(v)
		}
	}
	if !values.any {
		return values, ErrEmpty
	}
	return values, nil
}

// cellMarks draws the fields.
type cellMarks struct {
	chart  HeatMap
	shades scale
}

// Plot implements gonum's Plotter.
func (m cellMarks) Plot(c draw.Canvas, p *gonum.Plot) {
	toX, toY := p.Transforms(&c)
	style := textStyle(sans(smallSize))
	style.XAlign, style.YAlign = draw.XCenter, draw.YCenter
	for row, cells := range m.chart.Cells {
		for column, v := range cells {
			if isMissing(v) {
				continue
			}
			x, y := float64(column), float64(row)
			field := vg.Rectangle{
				Min: vg.Point{X: toX(x-0.5) + 0.4, Y: toY(y-0.5) + 0.4},
				Max: vg.Point{X: toX(x+0.5) - 0.4, Y: toY(y+0.5) - 0.4},
			}
			shade := shadeAt(m.shades.fraction(v))
			c.SetColor(shade)
			c.Fill(field.Path())
			label := shortNumber(v)
			size := field.Size()
			if style.Width(label) > size.X-2 || smallSize > size.Y {
				continue
			}
			style.Color = textOn(shade)
			middle := vg.Point{X: toX(x), Y: toY(y) + style.FontExtents().Descent/2}
			c.FillText(style, middle, label)
		}
	}
}

// fraction tells how far along the scale a value lies, from 0 to 1.
func (s scale) fraction(v float64) float64 {
	part := (v - s.min) / (s.max - s.min)
	if s.axis.Log {
		part = (math.Log(v) - math.Log(s.min)) / (math.Log(s.max) - math.Log(s.min))
	}
	return math.Min(math.Max(part, 0), 1)
}

// shadeAt runs from a pale to a dark blue. Lightness falls all the way, so the
// order of shades is plain to every reader and in grey.
func shadeAt(part float64) color.NRGBA {
	anchors := [...]color.NRGBA{
		{R: 0xf2, G: 0xf6, B: 0xe4, A: 0xff},
		{R: 0x8c, G: 0xc9, B: 0xbe, A: 0xff},
		{R: 0x2b, G: 0x84, B: 0xb4, A: 0xff},
		{R: 0x1b, G: 0x2a, B: 0x5c, A: 0xff},
	}
	place := part * float64(len(anchors)-1)
	i := min(int(place), len(anchors)-2)
	mix := func(a, b uint8) uint8 {
		return uint8(math.Round(float64(a) + (float64(b)-float64(a))*(place-float64(i))))
	}
	from, to := anchors[i], anchors[i+1]
	return color.NRGBA{R: mix(from.R, to.R), G: mix(from.G, to.G), B: mix(from.B, to.B), A: 0xff}
}

// textOn returns the colour, black or white, that can be read on the shade.
func textOn(shade color.NRGBA) color.Color {
	lightness := 0.299*float64(shade.R) + 0.587*float64(shade.G) + 0.114*float64(shade.B)
	if lightness > 140 {
		return color.NRGBA{R: 0x1f, G: 0x23, B: 0x28, A: 0xff}
	}
	return color.NRGBA{R: 0xff, G: 0xff, B: 0xff, A: 0xff}
}
