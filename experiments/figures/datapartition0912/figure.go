// Package datapartition0912 reproduces figures 9 and 12 of "RDMA Load Balancing via Data Partition": the completion time
// of 10 MB against queue pairs and chunks in the third network.
package datapartition0912

import (
	_ "embed" // README and scenario

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/figures/datapartition"
)

//go:embed README.md
var readme string

//go:embed scenario.yaml
var base []byte

// Figure is figures 9 and 12 of Data Partition.
func Figure() *figure.Figure {
	n := datapartition.Network{
		Name:            "data-partition-9-12",
		Title:           "Completion time of 10 MB: 128 terminals, four paths",
		Section:         "§IV, figures 9 and 12",
		README:          readme,
		Scenario:        base,
		PublishedSingle: 20.84,
		PublishedNote:   "published: about 0.2 ms more than in the first network",
		QPs:             []int{1, 2, 3, 4, 5},
		OnePath:         true,
	}
	return n.Figure()
}
