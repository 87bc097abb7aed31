package plot

import (
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A legendEntry names what one kind of mark means.
type legendEntry struct {
	name string
	// thumbnail draws a sample of the mark into the small canvas.
	thumbnail func(c draw.Canvas)
}

const (
	thumbnailWidth = 20
	legendLeading  = labelSize * 1.45
	legendGap      = 16 // between one entry and the next
)

// addEntry appends an entry unless it has no name or its name is already there:
// the published numbers of several series share one entry.
func addEntry(entries []legendEntry, entry legendEntry) []legendEntry {
	if entry.name == "" {
		return entries
	}
	for _, present := range entries {
		if present.name == entry.name {
			return entries
		}
	}
	return append(entries, entry)
}

// drawLegend writes the entries in rows below the top of the area and returns
// the height they took. Standing outside the data area it cannot cover data.
func drawLegend(area draw.Canvas, entries []legendEntry) vg.Length {
	if len(entries) == 0 {
		return 4
	}
	style := textStyle(sans(labelSize))
	at := vg.Point{X: area.Min.X, Y: area.Max.Y}
	rows := vg.Length(1)
	for _, entry := range entries {
		width := thumbnailWidth + 5 + style.Width(entry.name)
		if at.X > area.Min.X && at.X+width > area.Max.X {
			at = vg.Point{X: area.Min.X, Y: at.Y - legendLeading}
			rows++
		}
		sample := area
		sample.Min = vg.Point{X: at.X, Y: at.Y - labelSize*1.2}
		sample.Max = vg.Point{X: at.X + thumbnailWidth, Y: at.Y}
		entry.thumbnail(sample)
		area.FillText(style, vg.Point{X: at.X + thumbnailWidth + 5, Y: at.Y}, entry.name)
		at.X += width + legendGap
	}
	return rows*legendLeading + 8
}
