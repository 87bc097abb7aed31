package plot

import (
	"math"
	"strings"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// categories is an axis of names.
func categories(axis Axis, names []string) scale {
	s := scale{axis: Axis{Label: axis.Label, Unit: axis.Unit}, min: -0.5, max: float64(len(names)) - 0.5}
	for i, name := range names {
		s.ticks = append(s.ticks, gonum.Tick{Value: float64(i), Label: name})
	}
	return s
}

// fitCategories breaks the names below the groups into lines that fit, and tilts
// them where a single word is too wide.
func fitCategories(p *gonum.Plot) {
	style := &p.X.Tick.Label
	ticks := p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max)
	// About 70 points go to the margins and to the vertical axis.
	room := (chartWidth - 70) / vg.Length(max(1, len(ticks)))
	widest := vg.Length(0)
	lines := make([]string, len(ticks))
	for i, tick := range ticks {
		wrapped := wrap(tick.Label, *style, room*0.95)
		for _, line := range wrapped {
			widest = max(widest, style.Width(line))
		}
		lines[i] = strings.Join(wrapped, "\n")
	}
	tilted := widest > room*0.95
	for i := range ticks {
		if tilted {
			// A tilted name ends below its group and begins to the left of it; the
			// first must not begin outside the chart.
			ticks[i].Label = shorten(ticks[i].Label, *style, (room/2+30)/vg.Length(math.Cos(tilt)))
		} else {
			ticks[i].Label = lines[i]
		}
	}
	if tilted {
		style.Rotation, style.XAlign = tilt, draw.XRight
	}
	p.X.Tick.Marker = gonum.ConstantTicks(ticks)
}

// tilt is the angle of names that are too wide to lie flat.
const tilt = math.Pi / 6
