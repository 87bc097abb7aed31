package testbed

import (
	"strings"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/table"
)

// Measured finds the number of the first row whose quantity begins with a text;
// it is NoNumber if there is none.
func Measured(o *figure.Outcome, quantity string) float64 {
	for _, row := range o.Table {
		if strings.HasPrefix(row.Quantity, quantity) {
			return row.Measured
		}
	}
	return table.NoNumber()
}
