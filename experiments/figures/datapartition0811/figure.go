// Package datapartition0811 reproduces figures 8 and 11 of "RDMA Load Balancing via Data
// Partition": the completion time of 10 MB against queue pairs and chunks in the
// second network.
package datapartition0811

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

// publishedSingle is the time of one queue pair, in ms (§IV).
const publishedSingle = 17.772320

const name = "Data Partition 8, 11"

// Figure is figures 8 and 11 of Data Partition.
func Figure() *figure.Figure {
	e := datapartition.Experiment{
		Name:            "data-partition-8-11",
		Title:           "Completion time of 10 MB: 20 terminals, five joined switches",
		Section:         "§IV, figures 8 and 11",
		README:          readme,
		Scenario:        base,
		PublishedSingle: publishedSingle,
		QPs:             []int{1, 2, 3, 4, 5, 8},
		Rows:            rows,
	}
	return e.Figure()
}

// rows compares with the numbers of §IV.
func rows(g *datapartition.Grid) table.Table {
	return append(table.Table{{
		Figure: name, Quantity: "one QP", Unit: "ms", Published: publishedSingle, Measured: g.Single(),
		Tolerance: datapartition.Tenth, Note: "undivided",
	}}, g.Trends(name)...)
}
