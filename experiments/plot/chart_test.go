package plot

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"gonum.org/v1/plot/vg"
)

func TestBadData(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	good := []Series{{Points: []Point{{1, 1}, {2, 2}}}}
	for name, test := range map[string]struct {
		chart Chart
		want  error
	}{
		"line without series":     {Line{}, ErrEmpty},
		"line without points":     {Line{Series: []Series{{Name: "a"}}}, ErrEmpty},
		"line, NaN":               {Line{Series: []Series{{Points: []Point{{1, nan}}}}}, ErrNotFinite},
		"line, infinite":          {Line{Series: []Series{{Points: []Point{{inf, 1}}}}}, ErrNotFinite},
		"line, zero on log":       {Line{Y: Axis{Log: true}, Series: []Series{{Points: []Point{{1, 0}}}}}, ErrNotPositive},
		"line, band upside down":  {Line{Series: []Series{{Band: []Interval{{1, 3, 2}}}}}, ErrShape},
		"line, band NaN":          {Line{Series: []Series{{Band: []Interval{{nan, 1, 2}}}}}, ErrNotFinite},
		"line, reference NaN":     {Line{Series: good, References: []Reference{{Y: nan}}}, ErrNotFinite},
		"line, reference on log":  {Line{X: Axis{Log: true}, Series: good, References: []Reference{{Kind: AtX}}}, ErrNotPositive},
		"line, axis backwards":    {Line{X: Axis{Min: 3, Max: 1}, Series: good}, ErrRange},
		"distribution of nothing": {CDF{Samples: []Sample{{Name: "a"}}}, ErrEmpty},
		"distribution, NaN":       {CDF{Samples: []Sample{{Values: []float64{1, nan}}}}, ErrNotFinite},
		"distribution, log":       {CDF{X: Axis{Log: true}, Samples: []Sample{{Values: []float64{0}}}}, ErrNotPositive},
		"bars without groups":     {Bars{Series: []BarSeries{{}}}, ErrEmpty},
		"bars, too few":           {Bars{Groups: []string{"a", "b"}, Series: []BarSeries{{Values: []float64{1}}}}, ErrShape},
		"bars, published":         {Bars{Groups: []string{"a"}, Series: []BarSeries{{Values: []float64{1}, Published: []float64{1, 2}}}}, ErrShape},
		"bars, infinite":          {Bars{Groups: []string{"a"}, Series: []BarSeries{{Values: []float64{inf}}}}, ErrNotFinite},
		"bars, all missing":       {Bars{Groups: []string{"a"}, Series: []BarSeries{{Values: []float64{nan}}}}, ErrEmpty},
	} {
		svg, err := test.chart.SVG()
		if !errors.Is(err, test.want) || svg != nil {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "plot: chart ") {
			t.Errorf("%s: %v does not say which chart", name, err)
		}
	}
}

func TestSmallestCharts(t *testing.T) {
	for name, chart := range map[string]Chart{
		"one point":      Line{Series: []Series{{Points: []Point{{0, 0}}}}},
		"only a band":    Line{Series: []Series{{Band: []Interval{{0, 1, 2}, {1, 1, 3}}}}},
		"one value":      CDF{Samples: []Sample{{Values: []float64{7}}}},
		"one value, log": CDF{Complement: true, X: Axis{Log: true}, Samples: []Sample{{Values: []float64{7}}}},
		"one bar":        Bars{Groups: []string{"a"}, Series: []BarSeries{{Values: []float64{-3}}}},
		"cut off":        Line{X: Axis{Min: 2, Max: 3}, Y: Axis{Max: 1}, Series: []Series{{Points: []Point{{1, 9}, {2.5, 0.5}, {4, -3}}}}},
		"all cut off":    Line{X: Axis{Min: 5, Max: 6}, Series: []Series{{Points: []Point{{1, 9}, {2, 3}}}}},
	} {
		svg, err := chart.SVG()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		wantXML(t, name, svg)
	}
}

func TestDistribution(t *testing.T) {
	values := []float64{3, 1, 2, 2}
	want := []Point{{1, 0}, {1, 0.25}, {2, 0.75}, {3, 1}}
	if got := distribution(values); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got, want := complement(values), []Point{{1, 1}, {1, 0.75}, {2, 0.25}, {3, 0.25}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if !slices.Equal(values, []float64{3, 1, 2, 2}) {
		t.Error("the samples were sorted in place")
	}
}

func TestThinKeepsPeaks(t *testing.T) {
	var points []vg.Point
	for i := range 100_000 {
		points = append(points, vg.Point{X: vg.Length(i) / 1000, Y: vg.Length(i % 7)})
	}
	points[54_321].Y, points[65_432].Y = 900, -900
	kept := thin(points)
	if len(kept) > 4*(100/0.25+1) {
		t.Errorf("%d points are left", len(kept))
	}
	if !slices.Contains(kept, points[54_321]) || !slices.Contains(kept, points[65_432]) {
		t.Error("a peak is lost")
	}
	if kept[0] != points[0] || kept[len(kept)-1] != points[len(points)-1] {
		t.Error("an end is lost")
	}
	if !slices.IsSortedFunc(kept, func(a, b vg.Point) int { return int(math.Copysign(1, float64(a.X-b.X))) }) {
		t.Error("the order is lost")
	}
	slices.Reverse(points)
	if got := thin(points); len(got) != len(points) {
		t.Error("a line that turns back was thinned")
	}
}

func TestPublishedNumbersAreDrawn(t *testing.T) {
	bars := Bars{Groups: []string{"a", "b"}, Series: []BarSeries{{Name: "x", Values: []float64{1, 2}}}}
	without, err := bars.SVG()
	if err != nil {
		t.Fatal(err)
	}
	bars.Series[0].Published = []float64{1.5, Missing()}
	with, err := bars.SVG()
	if err != nil {
		t.Fatal(err)
	}
	count := func(svg []byte) int { return bytes.Count(svg, []byte(`class="bp-s-ink"`)) }
	// One in the legend, one at the bar.
	if got := count(with) - count(without); got != 2 {
		t.Errorf("%d diamonds", got)
	}
	if !bytes.Contains(with, []byte(">"+publishedName+"<")) || bytes.Contains(without, []byte(">"+publishedName+"<")) {
		t.Error("the legend does not fit the diamonds")
	}
}

// A group that was not measured leaves no empty place, which would look like zero.
func TestGroupsWithoutValuesAreLeftOut(t *testing.T) {
	bars := Bars{
		Groups: []string{"first", "never run", "last"},
		Series: []BarSeries{{Values: []float64{1, Missing(), 2}, Published: []float64{1, 3, 2}}, {Values: []float64{5, Missing(), Missing()}}},
	}
	svg, err := bars.SVG()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"first": true, "never run": false, "last": true} {
		if got := bytes.Contains(svg, []byte(">"+name+"<")); got != want {
			t.Errorf("group %q is drawn: %v, want %v", name, got, want)
		}
	}
}

func TestPublishedLinesStandOut(t *testing.T) {
	published, other := referenceMarks{Reference: Reference{Name: "published, MP-RDMA"}}, referenceMarks{Reference: Reference{Name: "fluid model"}}
	if a, b := published.line(), other.line(); a.Color == b.Color || a.Width <= b.Width {
		t.Errorf("lines %+v and %+v look alike", a, b)
	}
}

func TestPaletteIsDistinct(t *testing.T) {
	seen := map[string]bool{}
	for order := range paletteSize {
		r, g, b, _ := AutoColour.resolve(order).RGBA()
		seen[string([]byte{byte(r), byte(g), byte(b)})] = true
	}
	if len(seen) != paletteSize {
		t.Errorf("%d colours", len(seen))
	}
	if Green.resolve(0) != Green.resolve(5) {
		t.Error("a named colour depends on the order")
	}
}

func TestShortNumber(t *testing.T) {
	for want, v := range map[string]float64{
		"0": 0, "149.9": 149.93, "38": 38, "17.1": 17.1, "0.996": 0.9963, "5324": 5324, "12.3k": 12345, "2.5M": 2.5e6, "-3.25": -3.25, "1.23e-07": 1.234e-7, "10": 9.999,
	} {
		if got := shortNumber(v); got != want {
			t.Errorf("%v is %q, want %q", v, got, want)
		}
	}
}

// TestChartsAreDrawnConcurrently is for the race detector: a run draws its
// figures on all cores.
func TestChartsAreDrawnConcurrently(t *testing.T) {
	var group sync.WaitGroup
	for range 4 {
		for name, chart := range gallery() {
			group.Go(func() {
				if _, err := chart.SVG(); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
	}
	group.Wait()
}
