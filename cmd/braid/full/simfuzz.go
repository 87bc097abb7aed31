package full

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/sim/fuzz"
)

// errBroken makes a campaign that found something a failure.
var errBroken = errors.New("promises were broken")

// newSimFuzz is `braid sim fuzz`.
func newSimFuzz() *cobra.Command {
	var (
		seeds, workers int
		first, seed    uint64
		asJSON         bool
	)
	cmd := &cobra.Command{
		Use:   "fuzz",
		Short: "Look for bugs in random networks with random faults",
		Long: `fuzz makes a random network, random work and a random script of faults from each
seed, runs them with real bytes, and checks what braid promises: each operation
completes exactly once, in order and with the right bytes, nothing outside its
memory changes, counters add up, and when the faults heal everything completes.
Every fifth network has channels too, with messages, calls, filters and Mock,
which moves them to TCP and back while UDP and TCP fail and heal: each message
arrives once and in order, each call that succeeds was handled once.

A seed that breaks a promise is made smaller for as long as it still does, and
the command that shows it again is printed. At the end stands how many of the
seeds had which kind of network, transport, fault and work.

--json prints {"schema", "seeds", "failures": [{"seed", "message", "replay",
"scenario"}], "covered": [{"group", "name", "seeds"}]}.`,
		Example: "  braid sim fuzz --seeds 2000\n  braid sim fuzz --seed 4711",
		Args:    cli.Arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("seed") {
				first, seeds = seed, 1
			}
			if seeds < 1 {
				return cli.Usage(fmt.Errorf("--seeds %d: must be above zero", seeds))
			}
			return runFuzz(cmd, first, seeds, workers, asJSON)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.IntVar(&seeds, "seeds", 200, "how many seeds to run")
	flags.Uint64Var(&first, "first", 1, "the first of them")
	flags.Uint64Var(&seed, "seed", 0, "run this seed only")
	flags.IntVar(&workers, "workers", runtime.GOMAXPROCS(0), "seeds at a time")
	flags.BoolVar(&asJSON, "json", false, "print one JSON object, and nothing else")
	cmd.MarkFlagsMutuallyExclusive("seed", "seeds")
	cmd.MarkFlagsMutuallyExclusive("seed", "first")
	return cmd
}

// fuzzReport is what the command prints as JSON.
type fuzzReport struct {
	Schema   int           `json:"schema"`
	Seeds    int           `json:"seeds"`
	Failures []fuzzFailure `json:"failures"`
	Covered  []fuzz.Count  `json:"covered"`
}

type fuzzFailure struct {
	Seed     uint64 `json:"seed"`
	Message  string `json:"message"`
	Replay   string `json:"replay"`
	Scenario string `json:"scenario"`
}

func runFuzz(cmd *cobra.Command, first uint64, seeds, workers int, asJSON bool) error {
	progress := newSimProgress(cmd, asJSON)
	began := time.Now()
	failures := fuzz.Campaign(cmd.Context(), first, seeds, workers, func(p fuzz.Progress) {
		progress.say(func() string {
			return fmt.Sprintf("%d of %d seeds, %d failed, %.0f seeds/s", p.Done, p.Total, p.Failed, float64(p.Done)/time.Since(began).Seconds())
		})
	})
	progress.end()
	if err := cmd.Context().Err(); err != nil {
		return err
	}
	took := time.Since(began)
	covered, err := fuzz.Covered(first, seeds)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	report := fuzzReport{Schema: 1, Seeds: seeds, Failures: []fuzzFailure{}, Covered: covered}
	for _, f := range failures {
		f = fuzz.Shrink(f)
		report.Failures = append(report.Failures, fuzzFailure{f.Seed, f.Message, f.Replay(), f.Scenario()})
		if !asJSON {
			fmt.Fprintf(out, "%v\n%s\n\n", f, f.Scenario())
		}
	}
	if asJSON {
		if err := cli.PrintJSON(out, report); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(out, "%d seeds, %d failed, %.1f s\n%s", seeds, len(failures), took.Seconds(), coverage(covered))
	}
	if len(failures) > 0 {
		return errBroken
	}
	return nil
}

// coverage has a line for each group of what was covered.
func coverage(counts []fuzz.Count) string {
	var b strings.Builder
	b.WriteString("seeds that had")
	group := ""
	for _, c := range counts {
		separator := ", "
		if c.Group != group {
			group = c.Group
			separator = fmt.Sprintf("\n  %-10s ", group+":")
		}
		fmt.Fprintf(&b, "%s%s %d", separator, c.Name, c.Seeds)
	}
	return b.String() + "\n"
}
