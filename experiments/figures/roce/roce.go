// Package roce is what the figures of "RDMA over commodity Ethernet at scale" have in common.
package roce

import (
	"github.com/braid-rdma/braid/experiments/experiment"
	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/experiments/table"
)

// Paper is the paper's name.
const Paper = "RDMA over commodity Ethernet at scale (SIGCOMM '16)"

// Row is a row in one line; most of the paper's statements have no number, but a direction.
func Row(quantity, unit string, published float64, t table.Tolerance, value func(experiment.Results) float64) experiment.Row {
	return experiment.Row{Quantity: quantity, Unit: unit, Published: published, Tolerance: t, Value: value}
}

// WithMP carries all traffic by the scenario's transport mp, which needs no PFC.
func WithMP(s *scenario.Scenario) {
	s.Fabric.PFC.On = false
	for _, w := range s.Workload {
		w.Transport = "mp"
	}
}
