package mprdma12b

import (
	"fmt"

	"github.com/braid-rdma/braid/experiments/table"
)

// What the paper publishes (§5.1.2), and what HPCC's ns-3 gave for DCQCN on the same
// topology with flows of 5 MB.
const (
	publishedGain   = 1.3478
	publishedLowest = 32.95
	unluckyBelow    = 15

	referenceMean   = 30.03
	referenceLowest = 12.47
	referenceP10    = 18.39
	referenceMedian = 34.87
)

// Throughputs may differ by a tenth, the tails of a distribution by a quarter.
var (
	throughput = table.Relative(0.1)
	tail       = table.Relative(0.25)
)

func rows(results map[string]*goodputs) table.Table {
	mp, dcqcn := results[caseMP], results[caseAuthors]
	const name = "MP-RDMA 12b"
	t := table.Table{
		{
			Figure: name, Quantity: "average goodput, MP-RDMA to DCQCN", Unit: "ratio",
			Published: publishedGain, Measured: mp.mean() / dcqcn.mean(), Tolerance: throughput,
			Note: fmt.Sprintf("%.2f against %.2f Gb/s", mp.mean(), dcqcn.mean()),
		},
		{
			Figure: name, Quantity: "lowest goodput of a connection, MP-RDMA", Unit: "Gb/s",
			Published: publishedLowest, Measured: mp.lowest(), Tolerance: throughput,
			Note: "packets of 1024 bytes make 36.0 Gb/s the most",
		},
		{
			Figure: name, Quantity: "lowest goodput of a connection, DCQCN", Unit: "Gb/s",
			Published: table.NoNumber(), Measured: dcqcn.lowest(), Tolerance: table.AtMost(unluckyBelow),
			Note: fmt.Sprintf("\"many unlucky flows, e.g. <15 Gbps\"; %d of %d are below", dcqcn.below(unluckyBelow), len(dcqcn.sorted)),
		},
	}
	if r := results[caseHPCCReference]; r != nil {
		t = append(t, referenceRows(r)...)
	}
	return t
}

// referenceRows compare our DCQCN with another simulator's.
func referenceRows(r *goodputs) table.Table {
	row := func(quantity string, published, measured float64, t table.Tolerance) table.Row {
		return table.Row{
			Figure: "HPCC ns-3", Quantity: "DCQCN, 5 MB per connection: " + quantity, Unit: "Gb/s",
			Published: published, Measured: measured, Tolerance: t,
		}
	}
	return table.Table{
		row("average goodput", referenceMean, r.mean(), throughput),
		row("median goodput", referenceMedian, r.quantile(0.5), throughput),
		row("10th percentile", referenceP10, r.quantile(0.1), tail),
		row("lowest goodput", referenceLowest, r.lowest(), tail),
	}
}
