package mprdma13

import (
	"fmt"

	"github.com/braid-rdma/braid/experiments/table"
)

// results are the times of all cases.
type results struct {
	extent
	of map[testCase]*times
}

// ratio is the mean completion time to that of DCQCN.
func (r *results) ratio(c class, load float64) float64 {
	return r.of[testCase{mp, load}].byClass[c].mean / r.of[testCase{dcqcn, load}].byClass[c].mean
}

// shorter is what §5.1.2 publishes of a class: over the loads, completion times
// were by at least and at most so much shorter than with DCQCN.
type shorter struct{ least, most float64 }

var published = map[class]shorter{
	all:   {0.060, 0.177},
	large: {0.167, 0.777},
	small: {0.036, 0.133},
}

// tolerances of the ratio of completion times. Those of large flows are tail
// statistics: they are three in a hundred.
var tolerances = map[class]table.Tolerance{
	all:   table.Relative(0.1),
	large: table.Relative(0.25),
	small: table.Relative(0.1),
}

// rows has two rows for each class: the load at which MP-RDMA gains least, and
// the one at which it gains most.
func rows(r *results) table.Table {
	var t table.Table
	for _, c := range classes {
		least, most := r.loads[0], r.loads[0] // the loads of the least and the largest gain
		for _, load := range r.loads {
			if r.ratio(c, load) > r.ratio(c, least) {
				least = load
			}
			if r.ratio(c, load) < r.ratio(c, most) {
				most = load
			}
		}
		row := func(what string, gain, load float64) table.Row {
			return table.Row{
				Figure: "MP-RDMA 13", Quantity: fmt.Sprintf("%v: completion time to DCQCN's, %s gain over the loads", c, what), Unit: "ratio",
				Published: 1 - gain, Measured: r.ratio(c, load), Tolerance: tolerances[c],
				Note: fmt.Sprintf("at load %v; published %.1f %% shorter, measured %.1f %%", load, 100*gain, 100*(1-r.ratio(c, load))),
			}
		}
		t = append(t, row("least", published[c].least, least), row("largest", published[c].most, most))
	}
	return t
}
