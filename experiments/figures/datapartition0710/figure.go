// Package datapartition0710 reproduces figures 7 and 10 of "RDMA Load Balancing via Data Partition": the completion time
// of 10 MB against queue pairs and chunks in the first network.
package datapartition0710

import (
	_ "embed" // README and scenario

	"github.com/braid-rdma/braid/experiments/experiment"
	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/figures/datapartition"
)

// qps are the numbers of queue pairs.
var qps = []int{1, 2, 3, 4, 5, 8, 16}

//go:embed README.md
var readme string

//go:embed scenario.yaml
var base []byte

// Figure is figures 7 and 10 of Data Partition.
func Figure() *figure.Figure {
	n := datapartition.Network{
		Name:            "data-partition-7-10",
		Title:           "Completion time of 10 MB: 20 terminals, five paths",
		Section:         "§IV, figures 7 and 10",
		README:          readme,
		Scenario:        base,
		PublishedSingle: 20.639592,
		PublishedNote:   "undivided; published for every chunk",
		QPs:             qps,
		OnePath:         true,
		Assumptions:     true,
		Rows:            rows(),
	}
	return n.Figure()
}

// rows compares with the numbers of §IV and of the abstract.
func rows() []experiment.Row {
	row := func(quantity, unit string, published float64, value datapartition.Value, note string) experiment.Row {
		return experiment.Row{Quantity: quantity, Unit: unit, Published: published, Tolerance: datapartition.Tenth, Value: value, Note: note}
	}
	time, over := datapartition.Time, datapartition.Over
	const k = 1 << 10
	const small = "published 12.53 to 12.65 for 1K to 32K"
	most := datapartition.FirstRun(time(qps[len(qps)-1], 128*k), time(4, 128*k))
	shortest := over(datapartition.Shortest(qps), datapartition.Single)
	return []experiment.Row{
		row("2 QPs, smallest chunk", "ms", 12.59, datapartition.SmallestChunk(2), small),
		row("2 QPs, 32K", "ms", 12.59, time(2, 32*k), small),
		row("2 QPs, 64K", "ms", 15.009224, time(2, 64*k), ""),
		row("2 QPs, 128K", "ms", 17.816130, time(2, 128*k), ""),
		row("2 QPs, 32K, to one QP", "", 0.61, over(time(2, 32*k), datapartition.Single), ""),
		row("128K, most QPs to 2 QPs", "", 1, over(most, time(2, 128*k)), "published: almost no change beyond 2"),
		row("largest decrease", "%", 81.03, func(r experiment.Results) float64 { return 100 * (1 - shortest(r)) }, "abstract: at most"),
	}
}
