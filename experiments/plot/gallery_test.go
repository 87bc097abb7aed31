package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

var galleryDir = flag.String("gallery", "", "write the charts of the gallery to this directory, to look at them")

// gallery has a chart of every kind, with the data that is awkward to draw.
func gallery() map[string]Chart {
	return map[string]Chart{
		"line":       galleryLine(),
		"timeseries": galleryTimeSeries(),
		"cdf":        galleryCDF(false),
		"ccdf":       galleryCDF(true),
		"bars":       galleryBars(),
		"barslog":    galleryBarsLog(),
		"sweep":      gallerySweep(),
		"flat":       galleryFlat(),
		"tilted":     galleryTilted(),
	}
}

func galleryLine() Chart {
	loss := []float64{0, 0.5, 1, 2, 4, 6, 8, 10}
	mp, dcqcn := Series{Name: "MP-RDMA"}, Series{Name: "DCQCN over RC, go-back-N"}
	for _, p := range loss {
		y := 38 - 0.05*p
		mp.Points = append(mp.Points, Point{p, y})
		mp.Band = append(mp.Band, Interval{p, y - 1.5, y + 0.8})
		dcqcn.Points = append(dcqcn.Points, Point{p, 9 + 29/(1+p*4)})
	}
	return Line{
		Title:  "Goodput with silent loss on three of four paths",
		X:      Axis{Label: "loss rate", Unit: "%"},
		Y:      Axis{Label: "goodput", Unit: "Gb/s"},
		Series: []Series{mp, dcqcn},
		References: []Reference{
			{Name: "published", Kind: AtPoint, X: 0.5, Y: 17.5},
			{Name: "line rate", Kind: AtY, Y: 40},
		},
	}
}

func galleryTimeSeries() Chart {
	random := rand.New(rand.NewPCG(1, 2))
	red, dctcp := Series{Name: "standard RED"}, Series{Name: "DCTCP marking"}
	for i := range 20000 {
		t := float64(i) / 10
		red.Points = append(red.Points, Point{t, 120 + 90*math.Sin(t/60) + 25*random.Float64()})
		dctcp.Points = append(dctcp.Points, Point{t, 40 + 12*math.Sin(t/25) + 8*random.Float64()})
	}
	red.Style.Step, dctcp.Style.Step = true, true
	return Line{
		Title:      "Queue length of the bottleneck with a title so long that it cannot possibly fit on one line of the chart",
		X:          Axis{Label: "time", Unit: "µs"},
		Y:          Axis{Label: "queue", Unit: "KB"},
		Series:     []Series{red, dctcp},
		References: []Reference{{Name: "ECN threshold", Y: 60}, {Name: "path cut", Kind: AtX, X: 1200}},
	}
}

func galleryCDF(complement bool) Chart {
	random := rand.New(rand.NewPCG(3, 4))
	a, b := Sample{Name: "delta = 32"}, Sample{Name: "no control"}
	for range 5000 {
		a.Values = append(a.Values, 1+math.Floor(random.ExpFloat64()*6))
		b.Values = append(b.Values, 1+math.Floor(random.ExpFloat64()*random.ExpFloat64()*200))
	}
	return CDF{
		Title: "Out-of-order degree", X: Axis{Label: "out-of-order degree", Unit: "packets", Log: true},
		Samples: []Sample{a, b}, Complement: complement,
		References: []Reference{{Name: "published p99.9 without control", Kind: AtX, X: 5324}},
	}
}

func galleryBars() Chart {
	return Bars{
		Title:  "Aggregate throughput and fairness on the testbed",
		Y:      Axis{Label: "throughput", Unit: "Gb/s"},
		Groups: []string{"healthy", "one degraded link", "one failed link", "three lossy paths of four"},
		Series: []BarSeries{
			{Name: "MP-RDMA", Values: []float64{150.2, 130, 112.5, 38}, Published: []float64{150.68, Missing(), 118, 38}, Low: []float64{148, 120, Missing(), 36}, High: []float64{152, 139, Missing(), 38.5}},
			{Name: "DCQCN", Values: []float64{99.1, 60, Missing(), 17.1}, Published: []float64{102.46, Missing(), Missing(), 17.5}},
			{Name: "packet spraying", Values: []float64{145, 50, 33.3, 4}},
		},
		References: []Reference{{Name: "capacity of all paths", Y: 160}},
	}
}

func galleryBarsLog() Chart {
	return Bars{
		Title: "99.9th percentile of the out-of-order degree",
		X:     Axis{Label: "scenario"}, Y: Axis{Label: "degree", Unit: "packets", Log: true},
		Groups: []string{"symmetric-fabric-without-faults", "degraded-uplink-at-ten-percent", "lossy-uplink-with-one-percent", "cut-and-restored-uplink-in-turn", "incast-of-thirty-two-senders"},
		Series: []BarSeries{
			{Name: "delta = ∞", Values: []float64{179, 5324, 800, 40, 3}, Colour: Vermilion},
			{Name: "delta = 32", Values: []float64{35, 106, 90, 30, 3}, Colour: Blue},
		},
	}
}

func gallerySweep() Chart {
	l := Line{
		Title: "Completion time against chunk size", X: Axis{Label: "chunk", Unit: "bytes", Log: true, Base2: true},
		Y: Axis{Label: "completion time", Unit: "ms", Log: true},
	}
	for _, pairs := range []float64{1, 2, 3, 4, 5, 6, 8, 12, 16} {
		s := Series{Name: shortNumber(pairs) + " QP"}
		for exponent := 10.0; exponent <= 17; exponent++ {
			s.Points = append(s.Points, Point{math.Exp2(exponent), 1 + 30/pairs + (exponent-15)*(exponent-15)/3})
		}
		l.Series = append(l.Series, s)
	}
	return l
}

func galleryFlat() Chart {
	return Line{
		Title: "Fairness", X: Axis{Label: "flows"}, Y: Axis{Label: "Jain's index"},
		Series: []Series{{Name: "MP", Points: []Point{{1, 0.9991}, {2, 0.9975}, {3, 0.9962}, {8, 0.9968}}}},
	}
}

func galleryTilted() Chart {
	return Bars{
		Title: "Many names that are long words", Y: Axis{Label: "slowdown"},
		Groups: []string{"Antidisestablishmentarianism", "retransmission", "synchronisation", "acknowledgement", "oversubscription", "fragmentation", "reordering", "congestion"},
		Series: []BarSeries{{Name: "p50", Values: []float64{1, 2, 3, 4, 3, 2, 1, 2}}, {Name: "p99", Values: []float64{2, 4, 6, 8, 6, 4, -2, 4}}},
	}
}

func TestGalleryIsWellFormed(t *testing.T) {
	for name, chart := range gallery() {
		svg, err := chart.SVG()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		wantXML(t, name, svg)
		if len(svg) > 400_000 {
			t.Errorf("%s: %d bytes: thinning does not work", name, len(svg))
		}
		if *galleryDir != "" {
			if err := os.WriteFile(filepath.Join(*galleryDir, name+".svg"), svg, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestSameDataSameBytes(t *testing.T) {
	again := gallery()
	for name, chart := range gallery() {
		first, err := chart.SVG()
		if err != nil {
			t.Fatal(err)
		}
		second, err := again[name].SVG()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first, second) {
			t.Errorf("%s: two drawings of the same data differ", name)
		}
	}
}

// wantXML parses the document and checks what makes it fit for an HTML page.
func wantXML(t *testing.T, name string, svg []byte) {
	t.Helper()
	decoder := xml.NewDecoder(bytes.NewReader(svg))
	depth, elements := 0, 0
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Errorf("%s: not XML: %v", name, err)
			return
		}
		switch token := token.(type) {
		case xml.StartElement:
			if depth == 0 && token.Name.Local != "svg" {
				t.Errorf("%s: root is %q", name, token.Name.Local)
			}
			for _, a := range token.Attr {
				if a.Name.Local == "id" || a.Name.Local == "href" {
					t.Errorf("%s: attribute %s=%q would clash in a page", name, a.Name.Local, a.Value)
				}
				if bytes.Contains([]byte(a.Value), []byte("NaN")) || bytes.Contains([]byte(a.Value), []byte("Inf")) {
					t.Errorf("%s: <%s %s=%q>", name, token.Name.Local, a.Name.Local, a.Value)
				}
			}
			depth++
			elements++
		case xml.EndElement:
			depth--
		}
	}
	if elements < 20 {
		t.Errorf("%s: only %d elements", name, elements)
	}
}
