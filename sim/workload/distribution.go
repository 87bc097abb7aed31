package workload

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// A Point of a distribution: Percent of the flows have at most Bytes.
type Point struct {
	Bytes   int64
	Percent float64
}

// A Distribution of flow sizes, linear between its points. Where the first
// point has a share above 0, that share of the flows has exactly its size, and
// so does the rise between two points of the same size. It does not change
// once made.
type Distribution struct {
	name   string
	points []Point
}

// NewDistribution makes a distribution; name is for the classes of flows. Sizes
// and shares may not fall from point to point, and the last share is 100.
func NewDistribution(name string, points []Point) (*Distribution, error) {
	if len(points) == 0 || len(points) > MaxPoints {
		return nil, &DistributionError{Got: fmt.Sprint(len(points), " points"), Want: fmt.Sprint("1 to ", MaxPoints)}
	}
	for i, p := range points {
		if want := pointFault(points, i); want != "" {
			return nil, &DistributionError{Point: i + 1, Got: p.String(), Want: want}
		}
	}
	return &Distribution{name: name, points: slices.Clone(points)}, nil
}

// pointFault says what was expected of point i; nothing, if it is right.
func pointFault(points []Point, i int) string {
	p := points[i]
	switch {
	case p.Bytes < 0 || p.Bytes > MaxBytes:
		return fmt.Sprint("a size of 0 to ", int64(MaxBytes), " bytes")
	case !(p.Percent >= 0 && p.Percent <= 100): // so written that NaN is caught
		return "a share of 0 to 100 percent"
	case p.Bytes == 0 && p.Percent > 0:
		return "no share of empty flows (0:0)"
	case i > 0 && p.Bytes < points[i-1].Bytes:
		return "a size that is not below that of the point before"
	case i > 0 && p.Percent < points[i-1].Percent:
		return "a share that is not below that of the point before"
	case i > 0 && p == points[i-1]:
		return "a point that differs from the one before"
	case i == len(points)-1 && p.Percent != 100:
		return "100 percent at the last point"
	}
	return ""
}

// Name is the distribution's name, such as "web search".
func (d *Distribution) Name() string { return d.name }

// Points returns a copy of the distribution's points.
func (d *Distribution) Points() []Point { return slices.Clone(d.points) }

// String writes the points in the form that ParseDistribution reads.
func (d *Distribution) String() string {
	words := make([]string, len(d.points))
	for i, p := range d.points {
		words[i] = p.String()
	}
	return strings.Join(words, " ")
}

// String writes the point as bytes:percent.
func (p Point) String() string {
	return strconv.FormatInt(p.Bytes, 10) + ":" + strconv.FormatFloat(p.Percent, 'g', -1, 64)
}

// Mean is the expected size in bytes. Each product is converted on its own,
// which forbids the compiler to fuse it with the sum: arrival rates hang on the
// mean, and they are to be the same on every machine.
func (d *Distribution) Mean() float64 {
	first := d.points[0]
	sum := float64(float64(first.Bytes) * first.Percent)
	for i := 1; i < len(d.points); i++ {
		low, high := d.points[i-1], d.points[i]
		middle := (float64(low.Bytes) + float64(high.Bytes)) / 2
		sum += float64(middle * (high.Percent - low.Percent))
	}
	return sum / 100
}

// Sample draws a size of at least one byte, because no size at all means an
// endless flow.
func (d *Distribution) Sample(r *rand.Rand) int64 {
	return d.Quantile(r.Float64())
}

// Quantile is the size below which the given fraction of the flows lies; a
// fraction outside 0 to 1 counts as the nearer of the two.
func (d *Distribution) Quantile(fraction float64) int64 {
	percent := float64(fraction * 100)
	i, _ := slices.BinarySearchFunc(d.points, percent, func(p Point, percent float64) int {
		if p.Percent <= percent {
			return -1
		}
		return 1
	})
	switch i {
	case 0:
		return max(d.points[0].Bytes, 1)
	case len(d.points):
		return d.points[i-1].Bytes
	}
	low, high := d.points[i-1], d.points[i]
	part := (percent - low.Percent) / (high.Percent - low.Percent)
	rise := float64(part * float64(high.Bytes-low.Bytes))
	return max(low.Bytes+int64(rise+0.5), 1)
}
