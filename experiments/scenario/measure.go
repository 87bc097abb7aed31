package scenario

import (
	"strings"

	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/sim/topology"
)

// Measure says what is recorded while the simulation runs.
type Measure struct {
	// Sample is the time between two samples of the series; 0: no series.
	Sample sim.Time
	// Queues names queues: a link for the direction from its first end to its
	// second, "<" after the name for the other, or the two nodes, from-to.
	Queues []string
	Flows  []int // flow numbers, in the order of the workload
	// Windows adds window, packets in flight, round trip and out-of-order arrivals
	// to what is recorded of the flows.
	Windows bool
	// Degrees counts the out-of-order degrees of all packets.
	Degrees bool
}

// maxSamples bounds the numbers that a run records (800 MB).
const maxSamples = 100_000_000

// perFlow is the number of series of a flow.
func (m *Measure) perFlow() int {
	if m.Windows {
		return 6
	}
	return 1
}

// queueNumber finds the direction of a link that a queue's name stands for.
func queueNumber(g *topology.Graph, name string) (number int, ok bool) {
	link, back := strings.CutSuffix(name, "<")
	link = strings.TrimSuffix(link, ">")
	if i, ok := g.LinkNamed(link); ok {
		number = 2 * i
		if back {
			number++
		}
		return number, true
	}
	for i, l := range g.Links {
		a, b := g.Nodes[l.A].Name, g.Nodes[l.B].Name
		switch name {
		case a + "-" + b:
			return 2 * i, true
		case b + "-" + a:
			return 2*i + 1, true
		}
	}
	return 0, false
}
