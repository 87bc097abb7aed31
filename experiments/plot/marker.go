package plot

import (
	"image/color"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// drawMarker draws a marker with a thin rim in the colour of the paper, which
// keeps markers apart where they touch.
func drawMarker(c draw.Canvas, m Marker, colour color.Color, at vg.Point) {
	glyph := m.glyph()
	if glyph == nil {
		return
	}
	c.SetLineDash(nil, 0)
	if m == Cross { // it is made of lines: its rim is a wider line
		c.SetLineWidth(3.2)
	}
	c.SetColor(paper)
	glyph.DrawGlyph(&c, draw.GlyphStyle{Color: paper, Radius: markerRadius + 0.7}, at)
	c.SetLineWidth(1.5)
	c.SetColor(colour)
	glyph.DrawGlyph(&c, draw.GlyphStyle{Color: colour, Radius: markerRadius}, at)
}

// crossGlyph is a diagonal cross in the current line width; that of gonum is too
// thin to show its colour.
type crossGlyph struct{}

// DrawGlyph implements draw.GlyphDrawer.
func (crossGlyph) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	r := style.Radius * 0.9
	var path vg.Path
	path.Move(vg.Point{X: at.X - r, Y: at.Y - r})
	path.Line(vg.Point{X: at.X + r, Y: at.Y + r})
	path.Move(vg.Point{X: at.X - r, Y: at.Y + r})
	path.Line(vg.Point{X: at.X + r, Y: at.Y - r})
	c.Stroke(path)
}

// diamondGlyph is a filled diamond in the current colour.
type diamondGlyph struct{}

// DrawGlyph implements draw.GlyphDrawer.
func (diamondGlyph) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	c.Fill(diamond(at, style.Radius*1.3))
}

// drawHollowDiamond draws the mark of a published number: hollow, so that the
// measured mark behind it stays visible, with a rim so that it stands out.
func drawHollowDiamond(c draw.Canvas, at vg.Point) {
	const radius = 4.4
	outline := diamond(at, radius)
	c.SetLineDash(nil, 0)
	c.SetColor(paper)
	c.SetLineWidth(3)
	c.Stroke(outline)
	c.SetColor(ink)
	c.SetLineWidth(1.2)
	c.Stroke(outline)
}

func diamond(at vg.Point, radius vg.Length) vg.Path {
	var path vg.Path
	path.Move(vg.Point{X: at.X, Y: at.Y + radius})
	path.Line(vg.Point{X: at.X + radius, Y: at.Y})
	path.Line(vg.Point{X: at.X, Y: at.Y - radius})
	path.Line(vg.Point{X: at.X - radius, Y: at.Y})
	path.Close()
	return path
}
