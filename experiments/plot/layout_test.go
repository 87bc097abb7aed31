package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"
)

// A textBox is where a text of a chart stands, in the coordinates of SVG.
type textBox struct {
	text                     string
	left, right, top, bottom float64
}

// textBoxes reads all texts of a chart.
func textBoxes(t *testing.T, svg []byte) []textBox {
	t.Helper()
	var boxes []textBox
	decoder := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return boxes
		}
		if err != nil {
			t.Fatal(err)
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "text" {
			continue
		}
		var text string
		if err := decoder.DecodeElement(&text, &start); err != nil {
			t.Fatal(err)
		}
		boxes = append(boxes, boxOf(t, start, text))
	}
}

// boxOf turns the box of a rotated text into the upright one around it.
func boxOf(t *testing.T, e xml.StartElement, text string) textBox {
	t.Helper()
	attributes := map[string]string{}
	for _, a := range e.Attr {
		attributes[a.Name.Local] = a.Value
	}
	read := func(text string) float64 {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	x, y := read(attributes["x"]), read(attributes["y"])
	length, size := read(attributes["textLength"]), read(attributes["font-size"])
	angle := 0.0
	if rotation := attributes["transform"]; rotation != "" {
		degrees, _, _ := strings.Cut(strings.TrimPrefix(rotation, "rotate("), " ")
		angle = read(degrees) * math.Pi / 180
	}
	box := textBox{text: text, left: math.Inf(1), right: math.Inf(-1), top: math.Inf(1), bottom: math.Inf(-1)}
	sin, cos := math.Sincos(angle)
	// Capitals reach 0.72 of the size above the line, the tail of a g 0.2 below.
	for _, corner := range [][2]float64{{0, -0.72 * size}, {length, -0.72 * size}, {0, 0.2 * size}, {length, 0.2 * size}} {
		cx, cy := x+corner[0]*cos-corner[1]*sin, y+corner[0]*sin+corner[1]*cos
		box.left, box.right = math.Min(box.left, cx), math.Max(box.right, cx)
		box.top, box.bottom = math.Min(box.top, cy), math.Max(box.bottom, cy)
	}
	return box
}

func (b textBox) overlaps(c textBox) bool {
	return b.left < c.right && c.left < b.right && b.top < c.bottom && c.top < b.bottom
}

func TestTextIsNeitherClippedNorOverlaid(t *testing.T) {
	for name, chart := range gallery() {
		svg, err := chart.SVG()
		if err != nil {
			t.Fatal(err)
		}
		boxes := textBoxes(t, svg)
		if len(boxes) < 5 {
			t.Errorf("%s: only %d texts", name, len(boxes))
		}
		for i, b := range boxes {
			if b.left < 0 || b.right > float64(chartWidth) || b.top < 0 || b.bottom > float64(chartHeight) {
				t.Errorf("%s: %q is clipped: %+v", name, b.text, b)
			}
			for _, c := range boxes[:i] {
				// The boxes around tilted names overlap although the names do not.
				if b.overlaps(c) && name != "tilted" {
					t.Errorf("%s: %q lies over %q", name, b.text, c.text)
				}
			}
		}
	}
}

func TestLegendStandsAboveTheData(t *testing.T) {
	svg, err := galleryLine().SVG()
	if err != nil {
		t.Fatal(err)
	}
	legend, top := 0.0, math.Inf(1)
	for _, b := range textBoxes(t, svg) {
		switch b.text {
		case "MP-RDMA", "line rate":
			legend = math.Max(legend, b.bottom)
		case "40": // the highest tick, on the upper edge of the data
			top = (b.top + b.bottom) / 2
		}
	}
	if legend == 0 || legend >= top {
		t.Errorf("legend ends at %v, data begin at %v", legend, top)
	}
}

func TestTextIsEscaped(t *testing.T) {
	svg, err := Line{Title: `a < b & "c"`, Series: []Series{{Name: "<x>", Points: []Point{{1, 1}, {2, 2}}}}}.SVG()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, b := range textBoxes(t, svg) {
		found[b.text] = true
	}
	if !found[`a < b & "c"`] || !found["<x>"] {
		t.Errorf("texts: %v", found)
	}
}
