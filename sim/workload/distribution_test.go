package workload

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestPublishedMeans(t *testing.T) {
	if got := WebSearch().Mean(); got != 1_711_250 {
		t.Errorf("web search: mean %v, want 1711250", got)
	}
	for _, name := range DistributionNames() {
		d, err := ParseDistribution(name)
		if err != nil {
			t.Fatal(err)
		}
		if d.Name() != name {
			t.Errorf("%s: named %q", name, d.Name())
		}
		r, sum := seeded(1), 0.0
		const draws = 400_000
		for range draws {
			sum += float64(d.Sample(r))
		}
		if ratio := sum / draws / d.Mean(); math.Abs(ratio-1) > 0.02 {
			t.Errorf("%s: the mean of the draws is %.3f of Mean", name, ratio)
		}
	}
}

func TestQuantile(t *testing.T) {
	tests := []struct {
		points   string
		fraction float64
		want     int64
	}{
		{"0:0 1000:100", 0.5, 500},
		{"0:0 1000:100", 0, 1}, // never 0, which would be endless
		{"0:0 1000:100", 1, 1000},
		{"0:0 1000:100", -3, 1},
		{"0:0 1000:100", 7, 1000},
		{"64:100", 0.3, 64},
		{"100:50 200:100", 0.2, 100},              // half the flows have 100 bytes
		{"100:50 200:100", 0.75, 150},             //
		{"0:0 100:20 100:80 200:100", 0.5, 100},   // a rise at one size
		{"0:0 100:50 900:50 1000:100", 0.75, 950}, // a gap between sizes
		{"web search", 0.15, 10_000},
		{"web search", 0.97, 10_000_000},
	}
	for _, test := range tests {
		d, err := ParseDistribution(test.points)
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Quantile(test.fraction); got != test.want {
			t.Errorf("%s: quantile %v is %d, want %d", test.points, test.fraction, got, test.want)
		}
	}
}

func TestSampleFollowsThePoints(t *testing.T) {
	d := Storage()
	const draws = 100_000
	r := seeded(1)
	sizes := make([]int64, draws)
	for i := range sizes {
		sizes[i] = d.Sample(r)
	}
	slices.Sort(sizes)
	for _, p := range d.Points() {
		below, _ := slices.BinarySearch(sizes, p.Bytes+1)
		if got := float64(below) / draws * 100; math.Abs(got-p.Percent) > 0.6 {
			t.Errorf("%.2f %% of the draws have at most %d bytes, want %.2f", got, p.Bytes, p.Percent)
		}
	}
}

func TestParseDistributionUnits(t *testing.T) {
	d, err := ParseDistribution("  1K:10 2Ki:20\t3M:30\n4Mi:40 5G:50 6Gi:100 ")
	if err != nil {
		t.Fatal(err)
	}
	want := []Point{{1000, 10}, {2048, 20}, {3e6, 30}, {4 << 20, 40}, {5e9, 50}, {6 << 30, 100}}
	if got := d.Points(); !slices.Equal(got, want) {
		t.Errorf("points %v, want %v", got, want)
	}
	if d.Name() != "custom" {
		t.Errorf("name %q, want custom", d.Name())
	}
}

func TestParseDistributionRefuses(t *testing.T) {
	tests := []struct {
		text  string
		point int
		want  string
	}{
		{"", 0, "web search"},
		{"web-search", 0, "web search, hadoop, storage"},
		{"1000", 0, "bytes:percent"},
		{"10:50 20", 2, "bytes:percent"},
		{"x:50 20:100", 1, "bytes:percent"},
		{"10:x", 1, "bytes:percent"},
		{"-10:100", 1, "bytes:percent"},
		{"1.5K:100", 1, "bytes:percent"},
		{"10T:100", 1, "bytes:percent"},
		{"9000000000G:100", 1, "bytes:percent"},
		{"10:-1 20:100", 1, "0 to 100 percent"},
		{"10:101", 1, "0 to 100 percent"},
		{"10:NaN 20:100", 1, "0 to 100 percent"},
		{"0:5 10:100", 1, "empty flows"},
		{"10:50 5:100", 2, "size that is not below"},
		{"10:50 20:40 30:100", 2, "share that is not below"},
		{"10:50 10:50 30:100", 2, "differs"},
		{"10:50 20:99", 2, "100 percent"},
	}
	for _, test := range tests {
		_, err := ParseDistribution(test.text)
		var fault *DistributionError
		if !errors.As(err, &fault) || !errors.Is(err, ErrDistribution) {
			t.Errorf("%q: error %v, want a DistributionError", test.text, err)
			continue
		}
		if fault.Point != test.point || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: error %q at point %d, want one about %q at point %d",
				test.text, err, fault.Point, test.want, test.point)
		}
	}
	if _, err := NewDistribution("none", nil); !errors.Is(err, ErrDistribution) {
		t.Errorf("no points: error %v, want ErrDistribution", err)
	}
	if _, err := ParseDistribution(strings.Repeat("1:0 ", MaxPoints+1)); !errors.Is(err, ErrDistribution) {
		t.Errorf("too many points: error %v, want ErrDistribution", err)
	}
}

func FuzzParseDistribution(f *testing.F) {
	for _, seed := range []string{"web search", "0:0 10K:50 1Mi:100", "5:100", "1:1e-300 2:100", "10:NaN", "1:0x1p3 9:100"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseDistribution(text)
		if err != nil {
			if !errors.Is(err, ErrDistribution) {
				t.Fatalf("error of another kind: %v", err)
			}
			return
		}
		again, err := ParseDistribution(d.String())
		if err != nil || !slices.Equal(again.Points(), d.Points()) {
			t.Fatalf("%q does not read back: %v, %v", d, again, err)
		}
		points := d.Points()
		low, high := max(points[0].Bytes, 1), points[len(points)-1].Bytes
		if mean := d.Mean(); !(mean > 0 && mean <= float64(high)*(1+1e-9)) {
			t.Fatalf("%q: mean %v", d, mean)
		}
		last := int64(0)
		for _, fraction := range []float64{0, 1e-9, 0.25, 0.5, 0.999, 1} {
			size := d.Quantile(fraction)
			if size < low || size > high || size < last {
				t.Fatalf("%q: quantile %v is %d, after %d, within %d to %d", d, fraction, size, last, low, high)
			}
			last = size
		}
	})
}
