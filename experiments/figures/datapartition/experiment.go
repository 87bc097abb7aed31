package datapartition

import (
	"github.com/braid-rdma/braid/experiments/experiment"
	"github.com/braid-rdma/braid/experiments/figure"
)

// Network is one network of the paper with its pair of figures: completion time against queue pairs, and against the
// chunk.
type Network struct {
	Name, Title, Section string
	README               string
	Scenario             []byte
	QPs                  []int   // of the full run
	PublishedSingle      float64 // ms, of the transfer without the algorithm
	PublishedNote        string
	// OnePath adds a network of the same capacity that has a single path between sender and receiver.
	OnePath bool
	// Assumptions adds the plots that vary what the paper leaves open.
	Assumptions bool
	Rows        []experiment.Row // beside those of all networks
}

// chunks are the sizes of §IV, in bytes.
var chunks = []int{1 << 10, 2 << 10, 4 << 10, 8 << 10, 16 << 10, knee, 64 << 10, 128 << 10}

// What the paper leaves open.
var (
	depths  = []int{4, 16}           // chunks in flight
	streams = []int{0, 50, 100, 400} // in the background
)

// depthPairs is the number of queue pairs in the plot of chunks in flight.
const depthPairs = 4

// settings lists what is simulated.
func (n *Network) settings() []setting {
	all := []setting{undivided}
	for _, qps := range n.QPs {
		for _, chunk := range chunks {
			all = append(all, divided(qps, chunk))
		}
		if n.OnePath {
			all = append(all, setting{qps, knee, 1, backgroundStreams, true})
		}
	}
	if !n.Assumptions {
		return all
	}
	for _, count := range streams {
		all = append(all, setting{qps: 1, streams: count})
	}
	for _, depth := range depths {
		for _, chunk := range chunks {
			all = append(all, setting{depthPairs, chunk, depth, backgroundStreams, false})
		}
	}
	return all
}

// Figure is the pair of figures as one.
func (n *Network) Figure() *figure.Figure {
	e := &experiment.Experiment{
		Name: n.Name, Title: n.Title, Paper: "RDMA Load Balancing via Data Partition", Section: n.Section,
		README: n.README, Scenario: n.Scenario, Measures: measures, Rows: n.rows(), Plots: n.plots(), Notes: notes,
	}
	for _, p := range n.settings() {
		e.Cases = append(e.Cases, p.run())
	}
	return e.Figure()
}

func notes(experiment.Results) []string {
	return []string{
		"A transfer that had not finished at the end of its run is judged by the rate at which it went; the data says which share was done.",
		"Quick runs transfer 4 MiB, most of them in part, and give the time in proportion to 10 MiB.",
	}
}
