package experiment_test

import (
	"context"
	"fmt"

	"github.com/braid-rdma/braid/experiments/experiment"
	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/experiments/table"
	"github.com/braid-rdma/braid/sim"
)

// incast is what all cases have in common.
const incast = `
topology: {kind: leaf-spine, leaves: 2, spines: 2, hosts-per-leaf: 4, host-rate: 10Gbps, fabric-rate: 10Gbps, host-delay: 1us, fabric-delay: 1us}
fabric: {mtu: 1024, buffer: 1MB}
transport: {kind: rc, rate: none}
workload:
  - {kind: pairs, pairs: [[4, 0], [5, 0], [6, 0], [7, 0]], message: 64KB}
`

// pauses says what PFC costs and saves when four hosts write to one.
var pauses = experiment.Experiment{
	Name: "pauses", Title: "Four to one, with PFC and without", Paper: "none", Section: "none", README: "…",
	Scenario: []byte(incast),
	Cases: []experiment.Case{
		{Name: "lossy", Warm: sim.Millisecond, For: 5 * sim.Millisecond, Bin: sim.Millisecond},
		{Name: "lossless", Warm: sim.Millisecond, For: 5 * sim.Millisecond, Bin: sim.Millisecond, Change: func(s *scenario.Scenario) {
			s.Fabric.PFC.On = true
		}},
	},
	Measures: []experiment.Measure{
		{Name: "goodput_gbps", Of: (*experiment.Reading).Goodput},
		{Name: "dropped", Of: (*experiment.Reading).Dropped},
	},
	Rows: []experiment.Row{
		{Quantity: "goodput with PFC", Unit: "Gb/s", Published: table.NoNumber(), Tolerance: table.AtLeast(8), Value: experiment.Mean("lossless", "goodput_gbps")},
		{Quantity: "packets lost without PFC", Published: table.NoNumber(), Tolerance: table.AtLeast(1), Value: experiment.Mean("lossy", "dropped")},
		{Quantity: "packets lost with PFC", Published: table.NoNumber(), Tolerance: table.AtMost(0), Value: experiment.Mean("lossless", "dropped")},
	},
	Plots: []experiment.Plot{
		{Name: "over-time", Title: "Goodput", Draw: experiment.OverTime("Four to one", []string{"lossy", "lossless"})},
	},
}

func Example() {
	outcome, err := pauses.Figure().Run(context.Background(), figure.Options{Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, row := range outcome.Table {
		fmt.Println(row.Quantity, "is", row.Verdict(), "its tolerance")
	}
	fmt.Println(len(outcome.Plots), "picture; runs by", outcome.Data[0].Columns)
	// Output:
	// goodput with PFC is within its tolerance
	// packets lost without PFC is within its tolerance
	// packets lost with PFC is within its tolerance
	// 1 picture; runs by [seed goodput_gbps dropped]
}
