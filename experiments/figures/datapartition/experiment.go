package datapartition

import (
	"context"
	"time"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/table"
	"github.com/braid-rdma/braid/sim"
)

// Experiment is one network of the paper with its pair of figures: completion
// time against queue pairs, and against the chunk.
type Experiment struct {
	Name, Title, Section string
	README               string
	Scenario             []byte
	QPs                  []int   // of the full run
	PublishedSingle      float64 // ms, of the transfer without the algorithm
	// OnePath changes the scenario to a network of the same capacity that has a
	// single path between sender and receiver; nil: there is no such network.
	OnePath []string
	// Assumptions adds the plots that vary what the paper leaves open.
	Assumptions bool
	// Rows compares with the published numbers.
	Rows func(g *Grid) table.Table
}

// Chunks are the sizes of §IV, in bytes.
var Chunks = []int{1 << 10, 2 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10}

const (
	transferBytes = 10 << 20 // §IV counts 10240 chunks of 1K in it
	// knee is the chunk that the paper settles on.
	knee = 32 << 10
)

// plan is how much is run.
type plan struct {
	qps    []int
	chunks []int
	seeds  int
	bytes  int64    // of the transfer
	start  sim.Time // of the transfer
	limit  sim.Time // after which an unfinished transfer is judged by its rate
	// undividedLimit is the same for the transfer without the algorithm. All others
	// are compared with it, so it gets more time.
	undividedLimit sim.Time
	onePath        bool  // also in the network with a single path
	streams        []int // of the sensitivity to the background
	depths         []int // of the sensitivity to chunks in flight
}

func (e *Experiment) planOf(o figure.Options) plan {
	if o.Quick {
		return plan{
			qps: []int{2, 4}, chunks: []int{2 << 10, knee, 128 << 10}, seeds: 1,
			bytes: 4 << 20, start: 200 * sim.Microsecond, limit: sim.Millisecond, undividedLimit: 3 * sim.Millisecond,
		}
	}
	full := plan{
		qps: e.QPs, chunks: Chunks, seeds: 2, onePath: e.OnePath != nil,
		bytes: transferBytes, start: 500 * sim.Microsecond, limit: 7 * sim.Millisecond, undividedLimit: 42 * sim.Millisecond,
	}
	if e.Assumptions {
		full.streams, full.depths = []int{0, 50, 100, 400}, []int{4, 16}
	}
	return full
}

// points lists what is simulated, each with every seed.
func (e *Experiment) points(p plan) []point {
	points := []point{undivided}
	for _, qps := range p.qps {
		for _, chunk := range p.chunks {
			points = append(points, point{qps: qps, chunk: chunk, depth: 1, streams: backgroundStreams})
		}
		if p.onePath {
			points = append(points, point{qps: qps, chunk: knee, depth: 1, streams: backgroundStreams, onePath: true})
		}
	}
	for _, streams := range p.streams {
		points = append(points, point{qps: 1, streams: streams})
	}
	for _, depth := range p.depths {
		for _, chunk := range p.chunks {
			points = append(points, point{qps: depthPairs, chunk: chunk, depth: depth, streams: backgroundStreams})
		}
	}
	return points
}

// depthPairs is the number of queue pairs in the plot of chunks in flight.
const depthPairs = 4

// Figure is the experiment as a figure.
func (e *Experiment) Figure() *figure.Figure {
	return &figure.Figure{
		Name: e.Name, Title: e.Title, Paper: "RDMA Load Balancing via Data Partition", Section: e.Section,
		README: e.README, Run: e.run,
	}
}

func (e *Experiment) run(ctx context.Context, o figure.Options) (*figure.Outcome, error) {
	began := time.Now()
	p := e.planOf(o)
	points := e.points(p)
	results, err := figure.Map(ctx, o, len(points)*p.seeds, func(ctx context.Context, i int) (result, error) {
		return e.simulate(ctx, points[i/p.seeds], p, o.Seed+uint64(i%p.seeds))
	})
	if err != nil {
		return nil, err
	}
	g := newGrid(p, points, results)
	outcome := &figure.Outcome{Plots: g.plots(e.PublishedSingle), Table: e.Rows(g), Data: []figure.Data{g.data()}}
	for _, r := range results {
		outcome.Hops += r.hops
		outcome.Events += r.events
		outcome.Simulated += time.Duration(r.simulated / sim.Nanosecond)
	}
	outcome.Note("A transfer that had not finished at the end of its run is judged by the rate at which it went; the data says which share was done.")
	if o.Quick {
		outcome.Note("Quick runs transfer 4 MiB, most of them in part, and give the time in proportion to 10 MiB.")
	}
	outcome.Wall = time.Since(began)
	return outcome, nil
}
