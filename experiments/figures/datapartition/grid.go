package datapartition

import "github.com/braid-rdma/braid/experiments/figure"

// Grid is what all runs found: completion times by point, over the seeds.
type Grid struct {
	plan   plan
	points []point
	of     map[point]*cell // looked up by the order of points only
}

// cell is the runs of one point. Times are in milliseconds.
type cell struct {
	mean, low, high float64
	done            float64 // the least share of the transfer that a run finished
}

func newGrid(p plan, points []point, results []result) *Grid {
	g := &Grid{plan: p, points: points, of: make(map[point]*cell)}
	for i, pt := range points {
		runs := results[i*p.seeds : (i+1)*p.seeds]
		c := &cell{low: 1000 * runs[0].time, high: 1000 * runs[0].time, done: 1}
		for _, r := range runs {
			ms := 1000 * r.time
			c.mean += ms / float64(len(runs))
			c.low, c.high = min(c.low, ms), max(c.high, ms)
			c.done = min(c.done, r.done)
		}
		g.of[pt] = c
	}
	return g
}

func divided(qps, chunk int) point {
	return point{qps: qps, chunk: chunk, depth: 1, streams: backgroundStreams}
}

// Single is the mean time of the transfer without the algorithm, in ms.
func (g *Grid) Single() float64 { return g.of[undivided].mean }

// Time is the mean time with so many queue pairs and chunks of so many bytes, in
// ms; NaN if it was not run.
func (g *Grid) Time(qps, chunk int) float64 {
	if c := g.of[divided(qps, chunk)]; c != nil {
		return c.mean
	}
	return notRun
}

// Shortest is the shortest mean time of the whole grid, in ms.
func (g *Grid) Shortest() float64 {
	shortest := g.Single()
	for _, qps := range g.plan.qps {
		for _, chunk := range g.plan.chunks {
			shortest = min(shortest, g.Time(qps, chunk))
		}
	}
	return shortest
}

// MostQPs is the largest number of queue pairs that was run.
func (g *Grid) MostQPs() int { return g.plan.qps[len(g.plan.qps)-1] }

// LeastChunk is the smallest chunk that was run.
func (g *Grid) LeastChunk() int { return g.plan.chunks[0] }

// data has every point.
func (g *Grid) data() figure.Data {
	d := figure.Data{Name: "completion", Columns: []string{
		"queue_pairs", "chunk_bytes", "chunks_in_flight", "background_streams", "one_path", "mean_ms", "shortest_ms", "longest_ms", "least_share_done",
	}}
	for _, pt := range g.points {
		c := g.of[pt]
		onePath := 0.0
		if pt.onePath {
			onePath = 1
		}
		chunk := pt.chunk
		if chunk == 0 {
			chunk = transferBytes
		}
		d.Rows = append(d.Rows, []float64{
			float64(pt.qps), float64(chunk), float64(pt.depth), float64(pt.streams), onePath, c.mean, c.low, c.high, c.done,
		})
	}
	return d
}
