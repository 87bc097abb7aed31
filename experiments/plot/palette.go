package plot

import (
	"image/color"

	"gonum.org/v1/plot/vg/draw"
)

// A Colour is one of the palette of Okabe and Ito. The zero value lets the chart
// choose by the order of the series; name a colour to let a competitor keep it
// from chart to chart.
type Colour int

// The palette, in the order in which charts use it.
const (
	AutoColour Colour = iota
	Blue
	Vermilion
	Green
	Orange
	Purple
	SkyBlue
	Ink // the colour of the text
	Yellow
)

const paletteSize = int(Yellow)

// resolve returns the colour of the series at the given place in the chart.
func (c Colour) resolve(order int) color.Color {
	if c <= AutoColour || c > Yellow {
		c = Colour(order%paletteSize) + Blue
	}
	switch c {
	case Blue:
		return color.NRGBA{R: 0x00, G: 0x72, B: 0xb2, A: 0xff}
	case Vermilion:
		return color.NRGBA{R: 0xd5, G: 0x5e, B: 0x00, A: 0xff}
	case Green:
		return color.NRGBA{R: 0x00, G: 0x9e, B: 0x73, A: 0xff}
	case Orange:
		return color.NRGBA{R: 0xe6, G: 0x9f, B: 0x00, A: 0xff}
	case Purple:
		return color.NRGBA{R: 0xcc, G: 0x79, B: 0xa7, A: 0xff}
	case SkyBlue:
		return color.NRGBA{R: 0x56, G: 0xb4, B: 0xe9, A: 0xff}
	case Yellow:
		return color.NRGBA{R: 0xd8, G: 0xc8, B: 0x2a, A: 0xff}
	default:
		return ink
	}
}

// A themed colour follows the reader's colour scheme: the canvas writes its class
// in place of its value, and the style sheet of the document gives the class a
// light and a dark value.
type themed struct {
	color.NRGBA        // the light value
	class       string // the suffix of the classes in styleSheet
}

var (
	ink   = themed{color.NRGBA{R: 0x1f, G: 0x23, B: 0x28, A: 0xff}, "ink"}
	faint = themed{color.NRGBA{R: 0x59, G: 0x63, B: 0x6e, A: 0xff}, "faint"}
	rule  = themed{color.NRGBA{R: 0xe1, G: 0xe4, B: 0xe8, A: 0xff}, "rule"}
	paper = themed{color.NRGBA{R: 0xff, G: 0xff, B: 0xff, A: 0xff}, "paper"}
)

// styleSheet gives the themed colours their values. Inline in an HTML page it
// applies to the whole page, which is why the class names carry a prefix; paper
// keeps the light values.
const styleSheet = `<style>` +
	`.bp-f-ink{fill:#1f2328}.bp-s-ink{stroke:#1f2328}` +
	`.bp-f-faint{fill:#59636e}.bp-s-faint{stroke:#59636e}` +
	`.bp-f-rule{fill:#e1e4e8}.bp-s-rule{stroke:#e1e4e8}` +
	`.bp-f-paper{fill:#fff}.bp-s-paper{stroke:#fff}` +
	`@media screen and (prefers-color-scheme:dark){` +
	`.bp-f-ink{fill:#e6edf3}.bp-s-ink{stroke:#e6edf3}` +
	`.bp-f-faint{fill:#9aa4af}.bp-s-faint{stroke:#9aa4af}` +
	`.bp-f-rule{fill:#2d333b}.bp-s-rule{stroke:#2d333b}` +
	`.bp-f-paper{fill:#161b22}.bp-s-paper{stroke:#161b22}}` +
	`</style>`

// translucent returns the colour with the given opacity, for bands.
func translucent(c color.Color, opacity float64) color.Color {
	solid, ok := color.NRGBAModel.Convert(c).(color.NRGBA)
	if !ok {
		return c
	}
	solid.A = uint8(opacity * 0xff)
	return solid
}

// A Marker is the shape drawn at each point of a series. The zero value lets the
// chart choose: by the order of the series where the points are few, none where
// they are many.
type Marker int

// The shapes, in the order in which charts use them.
const (
	AutoMarker Marker = iota
	Circle
	Square
	Triangle
	Diamond
	Cross
	NoMarker
)

func (m Marker) resolve(order int) Marker {
	if m <= AutoMarker || m > NoMarker {
		return Marker(order%int(Cross)) + Circle
	}
	return m
}

// glyph returns what draws the marker, or nil for none.
func (m Marker) glyph() draw.GlyphDrawer {
	switch m {
	case Circle:
		return draw.CircleGlyph{}
	case Square:
		return draw.BoxGlyph{}
	case Triangle:
		return draw.PyramidGlyph{}
	case Diamond:
		return diamondGlyph{}
	case Cross:
		return crossGlyph{}
	default:
		return nil
	}
}
