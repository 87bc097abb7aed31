package plot

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image"
	"image/color"
	"math"
	"strconv"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// fontStack names fonts with the widths of Liberation Sans, with which text is
// measured, before it falls back on whatever the reader has.
const fontStack = "Helvetica, Arial, 'Liberation Sans', sans-serif"

// svgCanvas is a vg.Canvas that writes plain SVG. It exists beside gonum's own
// because that one cannot write classes (which the dark colour scheme needs),
// names a font that few readers have, and turns every text upside down twice.
//
// Points are transformed here and not by nested groups: vg counts from the lower
// left corner upwards, SVG from the upper left one downwards.
type svgCanvas struct {
	width, height vg.Length
	label         string // what a screen reader says
	body          bytes.Buffer
	state         canvasState
	stack         []canvasState
}

// canvasState is what Push saves and Pop restores.
type canvasState struct {
	matrix     matrix
	colour     color.Color
	lineWidth  vg.Length
	dashes     []vg.Length
	dashOffset vg.Length
}

var _ vg.Canvas = (*svgCanvas)(nil)

func newCanvas(width, height vg.Length, label string) *svgCanvas {
	c := &svgCanvas{width: width, height: height, label: label}
	c.state.matrix = matrix{a: 1, d: 1}
	vg.Initialize(c)
	return c
}

// A matrix is the affine map (x, y) -> (ax+cy+e, bx+dy+f).
type matrix struct{ a, b, c, d, e, f float64 }

// then returns the map that applies inner first and m after it.
func (m matrix) then(inner matrix) matrix {
	return matrix{
		a: m.a*inner.a + m.c*inner.b,
		b: m.b*inner.a + m.d*inner.b,
		c: m.a*inner.c + m.c*inner.d,
		d: m.b*inner.c + m.d*inner.d,
		e: m.a*inner.e + m.c*inner.f + m.e,
		f: m.b*inner.e + m.d*inner.f + m.f,
	}
}

// Size implements vg.CanvasSizer.
func (c *svgCanvas) Size() (width, height vg.Length) { return c.width, c.height }

// SetLineWidth implements vg.Canvas.
func (c *svgCanvas) SetLineWidth(w vg.Length) { c.state.lineWidth = w }

// SetLineDash implements vg.Canvas.
func (c *svgCanvas) SetLineDash(pattern []vg.Length, offset vg.Length) {
	c.state.dashes, c.state.dashOffset = pattern, offset
}

// SetColor implements vg.Canvas.
func (c *svgCanvas) SetColor(clr color.Color) { c.state.colour = clr }

// Rotate implements vg.Canvas.
func (c *svgCanvas) Rotate(radians float64) {
	sin, cos := math.Sincos(radians)
	c.state.matrix = c.state.matrix.then(matrix{a: cos, b: sin, c: -sin, d: cos})
}

// Translate implements vg.Canvas.
func (c *svgCanvas) Translate(by vg.Point) {
	c.state.matrix = c.state.matrix.then(matrix{a: 1, d: 1, e: float64(by.X), f: float64(by.Y)})
}

// Scale implements vg.Canvas.
func (c *svgCanvas) Scale(x, y float64) {
	c.state.matrix = c.state.matrix.then(matrix{a: x, d: y})
}

// Push implements vg.Canvas.
func (c *svgCanvas) Push() { c.stack = append(c.stack, c.state) }

// Pop implements vg.Canvas.
func (c *svgCanvas) Pop() {
	last := len(c.stack) - 1
	c.state, c.stack = c.stack[last], c.stack[:last]
}

// Stroke implements vg.Canvas.
func (c *svgCanvas) Stroke(path vg.Path) {
	if c.state.lineWidth <= 0 || len(path) == 0 {
		return
	}
	c.body.WriteString(`<path fill="none" stroke-linejoin="round"`)
	c.paint("stroke")
	c.attribute("stroke-width", number(float64(c.state.lineWidth)))
	if len(c.state.dashes) > 0 {
		var pattern []byte
		for i, dash := range c.state.dashes {
			if i > 0 {
				pattern = append(pattern, ' ')
			}
			pattern = append(pattern, number(float64(dash))...)
		}
		c.attribute("stroke-dasharray", string(pattern))
		if c.state.dashOffset != 0 {
			c.attribute("stroke-dashoffset", number(float64(c.state.dashOffset)))
		}
	}
	c.attribute("d", c.pathData(path))
	c.body.WriteString("/>\n")
}

// Fill implements vg.Canvas.
func (c *svgCanvas) Fill(path vg.Path) {
	if len(path) == 0 {
		return
	}
	c.body.WriteString("<path")
	c.paint("fill")
	c.attribute("d", c.pathData(path))
	c.body.WriteString("/>\n")
}

// FillString implements vg.Canvas. The width of the text is written down too, so
// that a reader with another font sees it squeezed or stretched and not clipped.
func (c *svgCanvas) FillString(face font.Face, at vg.Point, text string) {
	if text == "" {
		return
	}
	x, y := c.place(at)
	c.body.WriteString("<text")
	c.attribute("x", number(x))
	c.attribute("y", number(y))
	m := c.state.matrix
	if angle := -math.Atan2(m.b, m.a) * 180 / math.Pi; math.Abs(angle) > 0.01 {
		c.attribute("transform", "rotate("+number(angle)+" "+number(x)+" "+number(y)+")")
	}
	c.paint("fill")
	c.attribute("font-size", number(float64(face.Font.Size)))
	if face.Font.Weight > 0 {
		c.attribute("font-weight", "bold")
	}
	c.attribute("textLength", number(float64(face.Width(text))))
	c.attribute("lengthAdjust", "spacingAndGlyphs")
	c.body.WriteString(">" + escape(text) + "</text>\n")
}

// DrawImage implements vg.Canvas. No chart draws images: a heat map is made of
// rectangles, which stay sharp at any size.
func (c *svgCanvas) DrawImage(vg.Rectangle, image.Image) {
	panic("plot: charts draw no images")
}

// paint writes the current colour as fill or stroke.
func (c *svgCanvas) paint(property string) {
	if t, ok := c.state.colour.(themed); ok {
		c.attribute("class", "bp-"+property[:1]+"-"+t.class)
		return
	}
	solid := color.NRGBA{A: 0xff}
	if c.state.colour != nil {
		if converted, ok := color.NRGBAModel.Convert(c.state.colour).(color.NRGBA); ok {
			solid = converted
		}
	}
	c.attribute(property, fmt.Sprintf("#%02x%02x%02x", solid.R, solid.G, solid.B))
	if solid.A != 0xff {
		c.attribute(property+"-opacity", number(float64(solid.A)/0xff))
	}
}

func (c *svgCanvas) attribute(name, value string) {
	c.body.WriteString(" " + name + `="` + value + `"`)
}

// place maps a point of vg to one of SVG.
func (c *svgCanvas) place(p vg.Point) (x, y float64) {
	m, px, py := c.state.matrix, float64(p.X), float64(p.Y)
	return m.a*px + m.c*py + m.e, float64(c.height) - (m.b*px + m.d*py + m.f)
}

// document returns the whole SVG document.
func (c *svgCanvas) document() []byte {
	var out bytes.Buffer
	w, h := number(float64(c.width)), number(float64(c.height))
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%spt" height="%spt" viewBox="0 0 %s %s" `,
		w, h, w, h)
	fmt.Fprintf(&out, `role="img" aria-label="%s" font-family="%s">`+"\n", escape(c.label), fontStack)
	out.WriteString(styleSheet + "\n")
	out.Write(c.body.Bytes())
	out.WriteString("</svg>\n")
	return out.Bytes()
}

// number writes a length with at most two decimals: a hundredth of a point is
// finer than any screen.
func number(v float64) string {
	v = math.Round(v*100) / 100
	if v == 0 {
		return "0" // never "-0"
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// escape makes text safe in XML, in an element as well as in an attribute.
func escape(text string) string {
	var out bytes.Buffer
	// Writing to a buffer cannot fail.
	_ = xml.EscapeText(&out, []byte(text))
	return out.String()
}
