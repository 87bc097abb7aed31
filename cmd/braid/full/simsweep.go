package full

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/experiments/results"
	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/experiments/sweep"
)

// newSimSweep is `braid sim sweep`.
func newSimSweep() *cobra.Command {
	var (
		grid    []string
		seeds   int
		workers int
		url     string
		listen  string
		out     string
		asJSON  bool
	)
	cmd := &cobra.Command{
		Use:   "sweep SCENARIO --grid KEY=VALUE,VALUE... [--grid ...]",
		Short: "Run a scenario for every point of a grid of parameters",
		Long: `sweep runs a scenario once for every combination of the values given, and prints
a table with a row for each run, in the order of the grid. Before the first run
all points are checked, so that a value that no run can have is found at once.

With --out it writes runs.csv, which has more columns, and runs.jsonl. --json
prints the latter in place of the table: one JSON object per line, {"schema",
"index", "settings", "seed", "summary" or "error"}, where "summary" is what
'braid sim run --json' prints, without "cost".

By default all processors of this machine share the work. With --listen, sweep
also starts a NATS server at which the workers of other machines ('braid sim
worker URL') take jobs; with --nats it uses a server that runs already, and
leaves the work to its workers.`,
		Example: `  braid sim sweep quickstart --grid transports.mp.delta=8,16,32 --seeds 5
  braid sim sweep my.yaml --grid duration=1ms,2ms --listen 0.0.0.0:4222
  braid sim sweep my.yaml --grid duration=1ms,2ms --nats nats://head:4222`,
		Args:              cli.Arguments(cobra.ExactArgs(1)),
		ValidArgsFunction: completeScenarios,
		RunE: func(cmd *cobra.Command, args []string) error {
			data, file, err := scenarioFile(args[0])
			if err != nil {
				return err
			}
			g, err := sweep.ParseGrid(grid)
			if err != nil {
				return cli.Usage(err)
			}
			if seeds < 1 {
				return cli.Usage(fmt.Errorf("--seeds %d: must be above zero", seeds))
			}
			// Seeds fit everywhere: each point is checked once.
			if err := checkPoints(cmd.Context(), sweep.Jobs(file, data, g, seedList(1)), workers); err != nil {
				return err
			}
			jobs := sweep.Jobs(file, data, g, seedList(seeds))
			return runSweep(cmd, jobs, sweepPlace{workers: workers, url: url, listen: listen}, sweepOutput{dir: out, asJSON: asJSON})
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringArrayVar(&grid, "grid", nil, "a parameter and its values, as key=value,value; may be given several times")
	flags.IntVar(&seeds, "seeds", 1, "run each point with seeds 1 to this")
	flags.StringVar(&out, "out", "", "directory for runs.csv and runs.jsonl")
	flags.IntVar(&workers, "workers", 0, "runs at a time on this machine; default: one per processor")
	flags.StringVar(&listen, "listen", "", "address at which workers of other machines may help, host:port")
	flags.StringVar(&url, "nats", "", "NATS server whose workers do the work")
	flags.BoolVar(&asJSON, "json", false, "print one JSON object per run, and nothing else")
	cmd.MarkFlagsMutuallyExclusive("listen", "nats")
	return cmd
}

func seedList(n int) (seeds []uint64) {
	for i := range n {
		seeds = append(seeds, uint64(i)+1)
	}
	return seeds
}

// sweepPlace is where a sweep runs.
type sweepPlace struct {
	workers     int
	url, listen string
}

func runSweep(cmd *cobra.Command, jobs []sweep.Job, place sweepPlace, output sweepOutput) error {
	if err := output.prepare(); err != nil {
		return err
	}
	progress := newSimProgress(cmd, output.asJSON)
	share := progress.share(fmt.Sprintf("%d runs", len(jobs)), time.Now())
	found, err := place.run(cmd.Context(), cmd.ErrOrStderr(), jobs, share)
	progress.end()
	if err != nil {
		return err
	}
	if err := output.write(cmd.OutOrStdout(), found); err != nil {
		return err
	}
	failed := 0
	for _, r := range found {
		if r.Error != "" {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d runs failed; their lines say why", failed, len(found))
	}
	return nil
}

func (p sweepPlace) run(ctx context.Context, log io.Writer, jobs []sweep.Job, share func(float64)) ([]sweep.Result, error) {
	switch {
	case p.url != "":
		return sweep.Queue(ctx, p.url, jobs, share)
	case p.listen != "":
		server, err := sweep.StartServer(p.listen)
		if err != nil {
			return nil, err
		}
		defer server.Close()
		fmt.Fprintf(log, "other machines may help: braid sim worker %s\n", server.URL())
		return p.workAlong(ctx, log, server.URL(), jobs, share)
	}
	return sweep.Local(ctx, jobs, runJob, p.workers, share)
}

// workerTries is how often a worker of this machine may fail before it is given up.
const workerTries = 5

// workAlong queues the jobs at a server and works on them as others do. It ends with the sweep, or with the last worker of
// this machine: others may never come.
func (p sweepPlace) workAlong(ctx context.Context, log io.Writer, url string, jobs []sweep.Job, share func(float64)) ([]sweep.Result, error) {
	working, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var left atomic.Int32
	left.Store(int32(p.localWorkers()))
	for range p.localWorkers() {
		go func() {
			var err error
			for tries := 0; tries < workerTries && working.Err() == nil; tries++ {
				if err = sweep.Work(working, url, runJob); err != nil && working.Err() == nil {
					fmt.Fprintln(log, err)
				}
			}
			if left.Add(-1) == 0 {
				stop(err)
			}
		}()
	}
	found, err := sweep.Queue(working, url, jobs, share)
	if cause := context.Cause(working); err != nil && cause != nil {
		err = cause
	}
	return found, err
}

func (p sweepPlace) localWorkers() int {
	if p.workers > 0 {
		return p.workers
	}
	return runtime.GOMAXPROCS(0)
}

// newSimWorker is `braid sim worker`.
func newSimWorker() *cobra.Command {
	var workers int
	cmd := &cobra.Command{
		Use:     "worker URL",
		Short:   "Do the work of a sweep that runs elsewhere",
		Long:    "worker takes runs from the NATS server of a sweep until it is interrupted.",
		Example: "  braid sim worker nats://head:4222",
		Args:    cli.Arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
			defer stop()
			ended := make(chan error)
			n := sweepPlace{workers: workers}.localWorkers()
			fmt.Fprintf(cmd.ErrOrStderr(), "%d workers for %s\n", n, args[0])
			for range n {
				go func() { ended <- sweep.Work(ctx, args[0], runJob) }()
			}
			var first error
			for range n {
				if err := <-ended; err != nil && ctx.Err() == nil && first == nil {
					first = err
					stop()
				}
			}
			return first
		},
	}
	cmd.Flags().IntVar(&workers, "workers", 0, "runs at a time; default: one per processor")
	return cmd
}

// jobScenario is the scenario of a job with its settings.
func jobScenario(j sweep.Job) (*scenario.Scenario, error) {
	s, err := scenario.Parse(j.Name, j.Scenario)
	if err != nil {
		return nil, err
	}
	settings := append([]string{"seed=" + strconv.FormatUint(j.Seed, 10)}, j.Settings...)
	return s, s.Set(settings...)
}

// checkJob says what keeps a job from being run.
func checkJob(_ context.Context, j sweep.Job) (json.RawMessage, error) {
	s, err := jobScenario(j)
	if err != nil {
		return nil, err
	}
	_, err = s.Start()
	return nil, err
}

// shownPoints is how many points of a grid that cannot be run are told.
const shownPoints = 5

// checkPoints returns an error that names the points that cannot be run.
func checkPoints(ctx context.Context, points []sweep.Job, workers int) error {
	checked, err := sweep.Local(ctx, points, checkJob, workers, nil)
	if err != nil {
		return err
	}
	wrong := slices.DeleteFunc(checked, func(r sweep.Result) bool { return r.Error == "" })
	if len(wrong) == 0 {
		return nil
	}
	text := fmt.Sprintf("%d of %d points cannot be run:", len(wrong), len(points))
	for i, r := range wrong {
		if i == shownPoints {
			text += fmt.Sprintf("\nand %d more", len(wrong)-shownPoints)
			break
		}
		text += fmt.Sprintf("\n%s: %s", strings.Join(r.Settings, " "), r.Error)
	}
	return errors.New(text)
}

// runJob is how this command runs a job.
func runJob(ctx context.Context, j sweep.Job) (json.RawMessage, error) {
	s, err := jobScenario(j)
	if err != nil {
		return nil, err
	}
	r, err := s.Start()
	if err != nil {
		return nil, err
	}
	if err := r.Go(ctx, nil); err != nil {
		return nil, err
	}
	summary := results.Summarise(r)
	summary.Cost = nil // it differs from machine to machine
	return json.Marshal(summary)
}
