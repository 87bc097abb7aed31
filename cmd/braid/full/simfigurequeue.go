package full

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/pool"
)

// figureQueue runs figures in their order, and one ahead: while the last simulations of one run, those of the next fill
// the processors that are left.
type figureQueue struct {
	figures  []*figure.Figure
	options  figure.Options
	cmd      *cobra.Command
	ctx      context.Context // ends when the outcomes are not wanted any more
	cancel   context.CancelFunc
	silent   bool
	outcomes []chan figureOutcome
	running  sync.WaitGroup
	current  atomic.Int64 // the figure whose outcome is next, and whose progress is shown
}

type figureOutcome struct {
	outcome *figure.Outcome
	err     error
}

func newFigureQueue(cmd *cobra.Command, chosen []*figure.Figure, o figure.Options, silent bool) *figureQueue {
	o.Pool = pool.New(o.Workers)
	q := &figureQueue{figures: chosen, options: o, cmd: cmd, silent: silent}
	q.ctx, q.cancel = context.WithCancel(cmd.Context())
	q.start()
	return q
}

// start starts the next figure, if there is one.
func (q *figureQueue) start() {
	i := len(q.outcomes)
	if i == len(q.figures) {
		return
	}
	done := make(chan figureOutcome, 1)
	q.outcomes = append(q.outcomes, done)
	q.running.Go(func() {
		outcome, err := q.run(i)
		done <- figureOutcome{outcome, err}
	})
}

// next returns the outcome of the figure after the last.
func (q *figureQueue) next() (*figure.Outcome, error) {
	q.start()
	o := <-q.outcomes[q.current.Load()]
	q.current.Add(1)
	return o.outcome, o.err
}

// stop ends what still runs.
func (q *figureQueue) stop() {
	q.cancel()
	q.running.Wait()
}

func (q *figureQueue) run(i int) (*figure.Outcome, error) {
	began, f, o := time.Now(), q.figures[i], q.options
	progress := newSimProgress(q.cmd, q.silent)
	show := progress.share(f.Name, began)
	o.Progress = func(share float64) {
		if q.current.Load() == int64(i) {
			show(share)
		}
	}
	outcome, err := f.Run(q.ctx, o)
	progress.end()
	if err != nil {
		return nil, err
	}
	outcome.Wall = time.Since(began)
	return outcome, nil
}
