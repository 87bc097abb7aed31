package mprdma05

import (
	"fmt"

	"github.com/braid-rdma/braid/experiments/fluid"
	"github.com/braid-rdma/braid/experiments/table"
)

const name = "MP-RDMA 5"

// The paper says of figure 5 that the ratios "converge to the same value which
// validates our analysis", and gives no number. A tenth of the mean counts as the
// same, and a tenth as agreement with the analysis.
var (
	theSame     = table.AtMost(0.1)
	asPredicted = table.Between(0.9, 1.1)
)

// rows judges the congestion control alone, and with the out-of-order control that
// the rest of the paper has.
func rows(free, controlled *trace, model *fluid.Result) table.Table {
	row := func(quantity, unit string, measured float64, t table.Tolerance, note string) table.Row {
		return table.Row{Figure: name, Quantity: quantity, Unit: unit, Published: table.NoNumber(), Measured: measured, Tolerance: t, Note: note}
	}
	predicted := fluid.MarkingAt(free.window)
	modelled := model.Steady.Links[0].MarkingRatio
	return table.Table{
		row("spread of the four marking ratios to their mean", "ratio", free.ratio.spread(), theSame,
			free.ratio.percent()+"; congestion control of §3.2 alone"),
		row("marking ratio to 2/(cwnd+2)", "ratio", free.ratio.mean()/predicted, asPredicted,
			fmt.Sprintf("cwnd %.1f", free.window)),
		row("marking ratio to that of the fluid model", "ratio", free.ratio.mean()/modelled, asPredicted,
			fmt.Sprintf("the model says %.2f %%", 100*modelled)),
		row("spread with out-of-order control, delta = 32", "ratio", controlled.ratio.spread(), theSame,
			controlled.ratio.percent()+"; the paper does not say whether it was on"),
	}
}

func (v perPath) percent() string {
	return fmt.Sprintf("%.2f, %.2f, %.2f, %.2f %%", 100*v[0], 100*v[1], 100*v[2], 100*v[3])
}
