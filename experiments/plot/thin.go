package plot

import (
	"math"

	"gonum.org/v1/plot/vg"
)

const (
	// manyPoints is from how many points on a line is thinned. A queue sampled
	// every microsecond for a second would otherwise make 20 MB of SVG.
	manyPoints = 2000
	// columnWidth is the distance, in points of 1/72 inch, that no screen
	// resolves further.
	columnWidth = 0.25
)

// thin reduces a line from left to right to at most four points for each narrow
// column: its first, lowest, highest and last, in their order. What is drawn
// looks the same, peaks included. A line that turns back is left alone.
func thin(points []vg.Point) []vg.Point {
	if len(points) < manyPoints {
		return points
	}
	for i := 1; i < len(points); i++ {
		if points[i].X < points[i-1].X {
			return points
		}
	}
	var kept []vg.Point
	for start := 0; start < len(points); {
		column := math.Floor(float64(points[start].X) / columnWidth)
		end, lowest, highest := start, start, start
		for end < len(points) && math.Floor(float64(points[end].X)/columnWidth) == column {
			if points[end].Y < points[lowest].Y {
				lowest = end
			}
			if points[end].Y > points[highest].Y {
				highest = end
			}
			end++
		}
		previous := -1
		for _, i := range []int{start, min(lowest, highest), max(lowest, highest), end - 1} {
			if i > previous {
				kept = append(kept, points[i])
				previous = i
			}
		}
		start = end
	}
	return kept
}

// steps turns points into a staircase that holds each value until the next.
func steps(points []vg.Point) []vg.Point {
	if len(points) == 0 {
		return nil
	}
	stairs := make([]vg.Point, 0, 2*len(points)-1)
	for i, p := range points {
		if i > 0 {
			stairs = append(stairs, vg.Point{X: p.X, Y: points[i-1].Y})
		}
		stairs = append(stairs, p)
	}
	return stairs
}
