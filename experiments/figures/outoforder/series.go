package outoforder

import (
	"context"
	"time"

	"github.com/braid-rdma/braid/experiments/figure"
)

// RunAll runs every case with several seeds, beginning at the seed of the options,
// and pools the seeds of each case. The work is noted in the outcome.
func RunAll(ctx context.Context, o figure.Options, yaml []byte, cases []Case, seeds int, length Length, out *figure.Outcome) ([]*Measurement, error) {
	runs, err := figure.Map(ctx, o, len(cases)*seeds, func(ctx context.Context, i int) (*Measurement, error) {
		return Run(ctx, yaml, cases[i/seeds], o.Seed+uint64(i%seeds), length)
	})
	if err != nil {
		return nil, err
	}
	pooled := make([]*Measurement, len(cases))
	for i := range cases {
		m := Pool(runs[i*seeds : (i+1)*seeds])
		out.Hops += m.Hops
		out.Events += m.Events
		out.Simulated += time.Duration(m.Total / 1000) // picoseconds
		pooled[i] = m
	}
	return pooled, nil
}
