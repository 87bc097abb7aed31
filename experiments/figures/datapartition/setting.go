package datapartition

import (
	"fmt"
	"slices"

	"github.com/braid-rdma/braid/experiments/experiment"
	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/sim/topology"
	"github.com/braid-rdma/braid/sim/workload"
)

const (
	transferBytes = 10 << 20 // §IV counts 10240 chunks of 1K in it
	quickBytes    = 4 << 20
	// knee is the chunk that the paper settles on.
	knee = 32 << 10
	// backgroundStreams is the paper's number (§IV).
	backgroundStreams = 200
)

// The measures.
const (
	completion = "completion_ms" // of 10 MiB
	share      = "share_done"    // of the transfer
)

// setting is one combination of parameters.
type setting struct {
	qps     int
	chunk   int // bytes; 0: the transfer is not divided
	depth   int // chunks that a queue pair has in flight; Algorithm 1 has one
	streams int // in the background
	onePath bool
}

// undivided is the transfer without the algorithm.
var undivided = setting{qps: 1, streams: backgroundStreams}

// divided is the transfer with the algorithm.
func divided(qps, chunk int) setting {
	return setting{qps: qps, chunk: chunk, depth: 1, streams: backgroundStreams}
}

func (p setting) name() string {
	text := fmt.Sprintf("%d QPs, %dK", p.qps, p.chunk>>10)
	if p.chunk == 0 {
		text = "one QP, undivided"
	}
	if p.depth > 1 {
		text += fmt.Sprintf(", %d in flight", p.depth)
	}
	if p.streams != backgroundStreams {
		text += fmt.Sprintf(", %d streams", p.streams)
	}
	if p.onePath {
		text += ", one path"
	}
	return text
}

// quick says whether the setting is part of quick runs.
func (p setting) quick() bool {
	return p == undivided || p == divided(p.qps, p.chunk) && slices.Contains([]int{2, 4}, p.qps) && slices.Contains([]int{2 << 10, knee, 128 << 10}, p.chunk)
}

// run is the setting for the driver. All others are compared with the undivided transfer, so it gets more time.
func (p setting) run() experiment.Case {
	const ms, quickStart = sim.Millisecond, 200 * sim.Microsecond
	c := experiment.Case{
		Name: p.name(), Change: p.change, Full: !p.quick(), Seeds: 2, UntilDone: true, MayOutlast: true,
		Warm: ms / 2, For: 7 * ms, QuickWarm: quickStart, Quick: ms,
		QuickChange: func(s *scenario.Scenario) {
			transfer := scenario.Configuration[workload.Pairs](s.Workload[len(s.Workload)-1])
			transfer.Bytes, transfer.Start = quickBytes, int64(quickStart)
		},
	}
	if p == undivided {
		c.For, c.Quick = 42*ms, 3*ms
	}
	return c
}

// change is that of the scenario, whose workload is the background first and the transfer second.
func (p setting) change(s *scenario.Scenario) {
	if p.onePath {
		net := scenario.Configuration[topology.LeafSpine](&s.Topology)
		net.FabricRate, net.Spines = int64(net.Spines)*net.HostRate, 1
	}
	chunk, depth := p.chunk, p.depth
	if chunk == 0 {
		// One message would say nothing of its progress; many at a time are as good.
		chunk, depth = 16<<10, 64
	}
	t := s.Transports["partition"]
	t.QPs, t.Chunk, t.Depth = p.qps, scenario.Bytes(chunk), depth
	// A single queue pair takes chunks, too, one after the other: its messages.
	scenario.Configuration[workload.Pairs](s.Workload[1]).Message = chunk
	scenario.Configuration[workload.Background](s.Workload[0]).Count = p.streams
	if p.streams == 0 {
		s.Workload = s.Workload[1:]
	}
}

// measures judge a transfer that was not done in time by its rate.
var measures = []experiment.Measure{
	{Name: completion, Of: func(r *experiment.Reading) float64 {
		return 1000 * transferBytes * 8 / transfer(r).Goodput(r.To)
	}},
	{Name: share, Of: func(r *experiment.Reading) float64 {
		return float64(transfer(r).Acked) / float64(transfer(r).Bytes)
	}},
}

func transfer(r *experiment.Reading) *sim.FlowResult { return &r.Flows[len(r.Flows)-1] }
