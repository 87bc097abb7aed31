package mprdma19

import "github.com/braid-rdma/braid/experiments/table"

// extremes returns the lowest and the highest goodput of a method over the shares.
func (s *summary) extremes(size scale, m method, message int) (low, high float64) {
	for i, share := range size.shares {
		g := s.goodput(setting{m, message, share, noCap})
		if i == 0 {
			low, high = g, g
		}
		low, high = min(low, g), max(high, g)
	}
	return low, high
}

const figureName = "MP-RDMA 19"

// table compares with the numbers of §5.2.5. A tenth is the tolerance of all
// throughputs; where the paper only bounds a number, so does the row.
func (s *summary) table(size scale) table.Table {
	at := func(m method, message int, share float64) setting { return setting{m, message, share, noCap} }
	row := func(quantity, unit string, published, measured float64, t table.Tolerance, note string) table.Row {
		return table.Row{Figure: figureName, Quantity: quantity, Unit: unit, Published: published, Measured: measured, Tolerance: t, Note: note}
	}
	tenth := table.Relative(0.1)
	lowMP, _ := s.extremes(size, multiPath, largeMessage)
	lowSW, _ := s.extremes(size, stopAndWait, largeMessage)
	last := size.shares[len(size.shares)-1]
	stopped := func(share float64) float64 {
		return s.goodput(at(stopAndWait, smallMessage, share)) / s.goodput(at(multiPath, smallMessage, share))
	}
	const unbounded = "the paper names no largest window"
	return table.Table{
		row("DCQCN, goodput per connection", "Gb/s", 20, s.baseline(), tenth, ""),
		row("512 KB, MP-RDMA, lowest over all shares", "Gb/s", 30, lowMP, tenth, ""),
		row("512 KB, stop-and-wait, lowest over all shares", "Gb/s", 30, lowSW, tenth, ""),
		row("512 KB, MP-RDMA to DCQCN", "", 1.48, lowMP/s.baseline(), tenth, "lowest over all shares"),
		row("512 KB, Δt", "round trips", 0.5, s.delay(at(multiPath, largeMessage, last)), table.Relative(0.25), ""),
		row("32 KB, MP-RDMA to DCQCN, 0 % synchronise", "", 1.49, s.gain(at(multiPath, smallMessage, 0)), tenth, ""),
		row("32 KB, MP-RDMA to DCQCN, 60 %", "", 1.13, s.gain(at(multiPath, smallMessage, 0.6)), tenth, unbounded),
		row("32 KB, MP-RDMA to DCQCN, 80 %", "", 0.8372, s.gain(at(multiPath, smallMessage, 0.8)), tenth, unbounded),
		row("32 KB, stop-and-wait to MP-RDMA, 80 %", "", 0.5, stopped(0.8), table.AtMost(0.5), ""),
		row("32 KB, stop-and-wait to MP-RDMA, 100 %", "", 0.5, stopped(1), table.AtMost(0.5), ""),
		row("32 KB, NAKs per synchronise operation, 80 %", "", 0, s.naksPerOperation(at(multiPath, smallMessage, 0.8)), table.AtMost(0), unbounded),
	}
}
