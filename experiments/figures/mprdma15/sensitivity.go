package mprdma15

import (
	"context"
	"fmt"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/figures/testbed"
	"github.com/braid-rdma/braid/experiments/plot"
	"github.com/braid-rdma/braid/sim"
)

// A tuning is what decides how different the delays of paths may be before
// MP-RDMA prunes the slower ones: delta packets at the rate of the connection.
type tuning struct{ mtu, delta int }

var (
	mtus   = []int{1024, 2048, 4096}
	deltas = []int{16, 32, 64, 128}
)

const (
	bdp        = 60_000
	sweepSeeds = 3
)

// sweep measures what MP-RDMA sends to a path on average while it is alone, in
// Gb/s. The bitmap has twice delta slots, as in the paper.
func sweep(ctx context.Context, o figure.Options, account *testbed.Account) (map[tuning]float64, error) {
	if o.Quick {
		return nil, nil
	}
	var tunings []tuning
	for _, mtu := range mtus {
		for _, delta := range deltas {
			for range sweepSeeds {
				tunings = append(tunings, tuning{mtu, delta})
			}
		}
	}
	rates, err := figure.Map(ctx, o, len(tunings), func(ctx context.Context, i int) (float64, error) {
		return tunings[i].measure(ctx, o.Seed+uint64(i%sweepSeeds), account)
	})
	if err != nil {
		return nil, err
	}
	means := map[tuning]float64{}
	for i, t := range tunings {
		means[t] += rates[i] / sweepSeeds
	}
	return means, nil
}

func (t tuning) measure(ctx context.Context, seed uint64, account *testbed.Account) (float64, error) {
	rig, err := testbed.Start(scenarioFile,
		fmt.Sprint("seed=", seed),
		fmt.Sprint("fabric.mtu=", t.mtu),
		fmt.Sprint("transports.mp.initial-window=", bdp/t.mtu),
		fmt.Sprint("transports.mp.delta=", t.delta),
		fmt.Sprint("transports.mp.slots=", 2*t.delta),
	)
	if err != nil {
		return 0, err
	}
	if err := rig.Until(ctx, 5*sim.Millisecond); err != nil {
		return 0, err
	}
	end := paperTimes.joins
	samples, err := rig.Series(ctx, end, end)
	if err != nil {
		return 0, err
	}
	account.Book(rig)
	return testbed.Mean(samples[0].Paths), nil
}

func deltaChart(alone map[tuning]float64) plot.Chart {
	l := plot.Line{
		Title: "MP-RDMA alone on four paths: MTU and delta",
		X:     plot.Axis{Label: "delta", Unit: "packets", Log: true, Base2: true},
		Y:     plot.Axis{Label: "sent to a path", Unit: "Gb/s", Min: 6, Max: 10},
		References: []plot.Reference{
			{Name: "the paper's delta", Kind: plot.AtX, X: 32},
		},
	}
	for _, mtu := range mtus {
		s := plot.Series{Name: fmt.Sprintf("MTU %d B", mtu)}
		for _, delta := range deltas {
			s.Points = append(s.Points, plot.Point{X: float64(delta), Y: alone[tuning{mtu, delta}]})
		}
		l.Series = append(l.Series, s)
	}
	return l
}
