package sweep

import (
	"context"

	"github.com/braid-rdma/braid/experiments/pool"
)

// Local runs the jobs in this process, several at a time, and returns their
// results in order. progress, if not nil, is told which share is done.
func Local(ctx context.Context, jobs []Job, runner Runner, workers int, progress func(share float64)) ([]Result, error) {
	return pool.Map(ctx, pool.New(workers), len(jobs), progress, func(ctx context.Context, i int) (Result, error) {
		r := run(ctx, runner, jobs[i])
		return r, ctx.Err()
	})
}
