// Package plot draws the charts of the experiments as SVG.
//
// # The flow
//
//	Line, CDF, Bars   plain structs that hold the data
//	   ──> the data is checked: something to draw, every number finite
//	   ──> each axis finds its range and its ticks
//	   ──> a frame lays out title, legend and data area
//	   ──> gonum/plot draws the axes, the chart its marks, onto an SVG canvas
//
// Every chart is a [Chart]: fill in the struct, call SVG, write the bytes to a
// file or hand them to the report.
//
// # What is decided here
//
// All charts have the same size, font and colours, so that figures stand beside
// one another and a competitor keeps its colour. The colours are those of Okabe
// and Ito, which readers with any kind of colour vision can tell apart; markers
// and dashes differ as well, so a black-and-white print can still be read. The
// legend stands between the title and the data area and therefore never covers
// data. What a paper published is drawn hollow or dashed in the colour of the
// text, what was measured is drawn solid and in colour.
//
// The axes are gonum/plot's. The marks are drawn here, on its canvas, because what
// readers need is not what its plotters draw: lines of a million points thinned so
// that peaks stay, markers with a rim, numbers and published values on bars. The
// canvas is our own because gonum's SVG has no classes for the dark colour scheme.
//
// The same data gives the same bytes: nothing here reads a clock, draws a random
// number or ranges over a map. The SVG follows the reader's light or dark colour
// scheme, uses no identifiers (so that many charts fit in one HTML page) and
// refers to nothing outside itself.
package plot
