// Package datapartition0912 reproduces figures 9 and 12 of "RDMA Load Balancing via Data
// Partition": the completion time of 10 MB against queue pairs and chunks in the
// third network.
package datapartition0912

import (
	_ "embed" // README and scenario

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/figures/datapartition"
	"github.com/braid-rdma/braid/experiments/table"
)

//go:embed README.md
var readme string

//go:embed scenario.yaml
var base []byte

// publishedSingle is the time of one queue pair, in ms (§IV: about 0.2 ms more than in the first network).
const publishedSingle = 20.84

const name = "Data Partition 9, 12"

// Figure is figures 9 and 12 of Data Partition.
func Figure() *figure.Figure {
	e := datapartition.Experiment{
		Name:            "data-partition-9-12",
		Title:           "Completion time of 10 MB: 128 terminals, four paths",
		Section:         "§IV, figures 9 and 12",
		README:          readme,
		Scenario:        base,
		PublishedSingle: publishedSingle,
		QPs:             []int{1, 2, 3, 4, 5},
		OnePath:         []string{"topology.spines=1", "topology.fabric-rate=160Gbps"},
		Rows:            rows,
	}
	return e.Figure()
}

// rows compares with the numbers of §IV.
func rows(g *datapartition.Grid) table.Table {
	return append(table.Table{{
		Figure: name, Quantity: "one QP", Unit: "ms", Published: publishedSingle, Measured: g.Single(),
		Tolerance: datapartition.Tenth, Note: "published: about 0.2 ms more than in the first network",
	}}, g.Trends(name)...)
}
