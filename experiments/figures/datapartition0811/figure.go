// Package datapartition0811 reproduces figures 8 and 11 of "RDMA Load Balancing via Data Partition": the completion time
// of 10 MB against queue pairs and chunks in the second network.
package datapartition0811

import (
	_ "embed" // README and scenario

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/figures/datapartition"
)

//go:embed README.md
var readme string

//go:embed scenario.yaml
var base []byte

// Figure is figures 8 and 11 of Data Partition.
func Figure() *figure.Figure {
	n := datapartition.Network{
		Name:            "data-partition-8-11",
		Title:           "Completion time of 10 MB: 20 terminals, five joined switches",
		Section:         "§IV, figures 8 and 11",
		README:          readme,
		Scenario:        base,
		PublishedSingle: 17.772320,
		PublishedNote:   "undivided",
		QPs:             []int{1, 2, 3, 4, 5, 8},
	}
	return n.Figure()
}
