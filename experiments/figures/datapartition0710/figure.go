// Package datapartition0710 reproduces figures 7 and 10 of "RDMA Load Balancing via Data
// Partition": the completion time of 10 MB against queue pairs and chunks in the
// first network.
package datapartition0710

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

// publishedSingle is the time of one queue pair, in ms (§IV: with every chunk).
const publishedSingle = 20.639592

const name = "Data Partition 7, 10"

// Figure is figures 7 and 10 of Data Partition.
func Figure() *figure.Figure {
	e := datapartition.Experiment{
		Name:            "data-partition-7-10",
		Title:           "Completion time of 10 MB: 20 terminals, five paths",
		Section:         "§IV, figures 7 and 10",
		README:          readme,
		Scenario:        base,
		PublishedSingle: publishedSingle,
		QPs:             []int{1, 2, 3, 4, 5, 8, 16},
		OnePath:         []string{"topology.spines=1", "topology.fabric-rate=200Gbps"},
		Assumptions:     true,
		Rows:            rows,
	}
	return e.Figure()
}

// rows compares with the numbers of §IV and of the abstract.
func rows(g *datapartition.Grid) table.Table {
	row := func(quantity, unit string, published, measured float64, note string) table.Row {
		return table.Row{Figure: name, Quantity: quantity, Unit: unit, Published: published, Measured: measured, Tolerance: datapartition.Tenth, Note: note}
	}
	const k = 1 << 10
	least := g.LeastChunk()
	rows := table.Table{
		row("one QP", "ms", publishedSingle, g.Single(), "undivided; published for every chunk"),
		row("2 QPs, smallest chunk", "ms", 12.59, g.Time(2, least), "published 12.53 to 12.65 for 1K to 32K"),
		row("2 QPs, 32K", "ms", 12.59, g.Time(2, 32*k), "published 12.53 to 12.65 for 1K to 32K"),
		row("2 QPs, 64K", "ms", 15.009224, g.Time(2, 64*k), ""),
		row("2 QPs, 128K", "ms", 17.816130, g.Time(2, 128*k), ""),
		row("2 QPs, 32K, to one QP", "", 0.61, g.Time(2, 32*k)/g.Single(), ""),
		row("128K, most QPs to 2 QPs", "", 1, g.Time(g.MostQPs(), 128*k)/g.Time(2, 128*k), "published: almost no change beyond 2"),
		row("largest decrease", "%", 81.03, 100*(1-g.Shortest()/g.Single()), "abstract: at most"),
	}
	return append(rows, g.Trends(name)...)
}
