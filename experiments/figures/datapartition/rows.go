package datapartition

import (
	"fmt"

	"github.com/braid-rdma/braid/experiments/table"
)

// Tenth is the tolerance of every published time and ratio, as of all throughputs
// in the figures.
var Tenth = table.Relative(0.1)

// Trends are the rows that the paper's prose gives for all three networks: "the
// best results are achieved by splitting the data into 1K units" and "a
// significant increase of completion time happens when the chunk size larger than
// 32K" (§IV).
func (g *Grid) Trends(name string) table.Table {
	least := g.LeastChunk()
	return table.Table{
		{
			Figure: name, Quantity: fmt.Sprintf("4 QPs, %dK to 32K, time", least>>10),
			Published: table.NoNumber(), Measured: g.Time(4, least) / g.Time(4, knee), Tolerance: table.AtMost(1),
			Note: "the smallest chunk is published as the best",
		},
		{
			Figure: name, Quantity: "4 QPs, 128K to 32K, time",
			Published: table.NoNumber(), Measured: g.Time(4, 128<<10) / g.Time(4, knee), Tolerance: table.AtLeast(1.1),
			Note: "32K is published as the threshold above which time grows",
		},
		{
			Figure: name, Quantity: "32K, 4 QPs to one QP undivided, time",
			Published: table.NoNumber(), Measured: g.Time(4, knee) / g.Single(), Tolerance: table.AtMost(0.9),
			Note: "several queue pairs are published as better",
		},
	}
}
