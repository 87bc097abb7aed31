package mprdma04

import (
	"fmt"

	"github.com/braid-rdma/braid/experiments/fluid"
	"github.com/braid-rdma/braid/experiments/table"
)

const name = "MP-RDMA 4"

// The paper describes figure 4 in words alone, so every tolerance is a bound:
// "varies very little compared with theoretical results" is a mean within a tenth
// of the model's and a deviation below a quarter of it; "much smaller than DCTCP
// RED" is at most half; "full throughput" is 99 %.
var (
	closeToModel   = table.Between(0.9, 1.1)
	variesLittle   = table.AtMost(0.25)
	muchLarger     = table.AtLeast(2)
	fullThroughput = table.AtLeast(0.99)
)

func rows(red, dctcp *result) table.Table {
	model := func(r *result) fluid.LinkSteady { return r.model.Steady.Links[0] }
	row := func(quantity, unit string, measured float64, t table.Tolerance, note string) table.Row {
		return table.Row{Figure: name, Quantity: quantity, Unit: unit, Published: table.NoNumber(), Measured: measured, Tolerance: t, Note: note}
	}
	return table.Table{
		row("standard RED: average queue, packets to model", "ratio", red.packets.mean()/model(red).Queue, closeToModel,
			fmt.Sprintf("%.1f packets; the model says %.1f", red.packets.mean(), model(red).Queue)),
		row("standard RED: deviation of the queue to its mean", "ratio", red.packets.deviation()/red.packets.mean(), variesLittle,
			"\"varies very little\""),
		row("queue deviation, DCTCP marking to standard RED", "ratio", dctcp.packets.deviation()/red.packets.deviation(), muchLarger,
			"\"much smaller than DCTCP RED\""),
		row("standard RED: utilisation", "share", red.packets.utilisation, fullThroughput,
			fmt.Sprintf("\"full throughput\"; the model says %.3f", model(red).Utilisation)),
		row("DCTCP marking: utilisation", "share", dctcp.packets.utilisation, fullThroughput,
			fmt.Sprintf("\"full throughput\"; the model says %.3f; depends on the packet size, which the paper does not give", model(dctcp).Utilisation)),
		row("DCTCP marking: average queue, packets to model", "ratio", dctcp.packets.mean()/model(dctcp).Queue, closeToModel,
			fmt.Sprintf("%.1f packets; the model says %.1f", dctcp.packets.mean(), model(dctcp).Queue)),
		row("standard RED: marking ratio to 2/(cwnd+2)", "ratio", red.packets.marked/fluid.MarkingAt(red.packets.window), closeToModel,
			"the fixed point of eq. (1)"),
	}
}
