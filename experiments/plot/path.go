package plot

import (
	"bytes"
	"math"

	"gonum.org/v1/plot/vg"
)

// pathData translates a path of vg into the language of SVG's d attribute.
func (c *svgCanvas) pathData(path vg.Path) string {
	var d bytes.Buffer
	for _, comp := range path {
		switch comp.Type {
		case vg.MoveComp:
			c.pathPoint(&d, 'M', comp.Pos)
		case vg.LineComp:
			c.pathPoint(&d, 'L', comp.Pos)
		case vg.ArcComp:
			c.pathArc(&d, comp)
		case vg.CurveComp:
			command := byte('Q')
			if len(comp.Control) == 2 {
				command = 'C'
			}
			for _, control := range comp.Control {
				c.pathPoint(&d, command, control)
				command = ' '
			}
			c.pathPoint(&d, ' ', comp.Pos)
		case vg.CloseComp:
			d.WriteByte('Z')
		}
	}
	return d.String()
}

func (c *svgCanvas) pathPoint(d *bytes.Buffer, command byte, p vg.Point) {
	x, y := c.place(p)
	d.WriteByte(command)
	d.WriteString(number(x))
	d.WriteByte(' ')
	d.WriteString(number(y))
}

// pathArc writes an arc in pieces of at most a third of a circle, because SVG
// cannot tell an arc that ends where it begins from no arc at all.
func (c *svgCanvas) pathArc(d *bytes.Buffer, comp vg.PathComp) {
	at := func(angle float64) vg.Point {
		sin, cos := math.Sincos(angle)
		return vg.Point{X: comp.Pos.X + comp.Radius*vg.Length(cos), Y: comp.Pos.Y + comp.Radius*vg.Length(sin)}
	}
	m := c.state.matrix
	radius := number(float64(comp.Radius) * math.Sqrt(math.Abs(m.a*m.d-m.b*m.c)))
	// SVG counts angles downwards, so a counterclockwise arc has sweep flag 0.
	sweep := "0"
	if comp.Angle < 0 {
		sweep = "1"
	}
	start := byte('L')
	if d.Len() == 0 {
		start = 'M'
	}
	c.pathPoint(d, start, at(comp.Start))
	pieces := max(1, int(math.Ceil(math.Abs(comp.Angle)/(2*math.Pi/3)-1e-9)))
	for i := 1; i <= pieces; i++ {
		d.WriteString("A" + radius + " " + radius + " 0 0 " + sweep)
		c.pathPoint(d, ' ', at(comp.Start+comp.Angle*float64(i)/float64(pieces)))
	}
}
