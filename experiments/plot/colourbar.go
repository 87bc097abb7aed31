package plot

import (
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// drawColourBar explains the shades of a heat map in the strip beside it.
func drawColourBar(strip draw.Canvas, shades scale) {
	const (
		left   = 14 // between the data and the bar
		width  = 11
		slices = 48
	)
	bar := vg.Rectangle{
		Min: vg.Point{X: strip.Min.X + left, Y: strip.Min.Y},
		Max: vg.Point{X: strip.Min.X + left + width, Y: strip.Max.Y},
	}
	height := bar.Max.Y - bar.Min.Y
	for i := range slices {
		slice := bar
		slice.Min.Y = bar.Min.Y + height*vg.Length(i)/slices
		// Each slice reaches under the next, so that no seam shows.
		slice.Max.Y = min(bar.Max.Y, slice.Min.Y+height/slices+0.5)
		strip.SetColor(shadeAt((float64(i) + 0.5) / slices))
		strip.Fill(slice.Path())
	}
	style := textStyle(sans(tickSize))
	style.YAlign = draw.YCenter
	widest := vg.Length(0)
	for _, tick := range shades.ticks {
		if tick.IsMinor() {
			continue
		}
		y := bar.Min.Y + height*vg.Length(shades.fraction(tick.Value))
		strip.StrokeLine2(draw.LineStyle{Color: faint, Width: 0.6}, bar.Max.X, y, bar.Max.X+3, y)
		strip.FillText(style, vg.Point{X: bar.Max.X + 5, Y: y + style.FontExtents().Descent}, tick.Label)
		widest = max(widest, style.Width(tick.Label))
	}
	title := textStyle(sans(labelSize))
	title.Rotation = math.Pi / 2
	title.XAlign, title.YAlign = draw.XCenter, draw.YTop
	strip.FillText(title, vg.Point{X: bar.Max.X + 8 + widest, Y: (bar.Min.Y + bar.Max.Y) / 2}, shades.axis.title())
}
