package full

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/experiments/results"
	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/experiments/scenarios"
)

// newSimRun is `braid sim run`.
func newSimRun() *cobra.Command {
	var (
		seed    uint64
		sets    []string
		out     string
		workers int
		policy  string
		cc      string
		trace   cli.Trace
		asJSON  bool
	)
	cmd := &cobra.Command{
		Use:   "run SCENARIO",
		Short: "Run a scenario",
		Long: `run runs a scenario: a YAML file, or one of those that 'braid sim list' names.
It prints a summary, and with --out writes the flows, links and series of
measurements as CSV and Parquet, and pictures as SVG: completion times, and over
time goodput and queues if the scenario samples them (measure.sample).

--json prints {"schema", "name", "seed", "complete", "simulated_us", "flows",
"classes", "transports", "network", "degrees", "cost"}; "flows" counts those
"done", "failed", "unfinished" and "endless" and has "fct_us" and "slowdown" of
those done. A field may be added; "schema" changes if one goes away.

--set changes a value of the scenario; 'braid sim list --fields SCENARIO' shows
all that can be set, and docs/SCENARIOS.md says what each field means.`,
		Example: `  braid sim run quickstart
  braid sim run my.yaml --seed 7 --json
  braid sim run my.yaml --set transports.mp.delta=16 --set duration=5ms --out results`,
		Args:              cli.Arguments(cobra.ExactArgs(1)),
		ValidArgsFunction: completeScenarios,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := loadScenario(args[0])
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("seed") {
				sets = append(sets, "seed="+strconv.FormatUint(seed, 10))
			}
			if cmd.Flags().Changed("workers") {
				sets = append(sets, "workers="+strconv.Itoa(workers))
			}
			if err := s.Set(sets...); err != nil {
				return err
			}
			if err := s.Choose(policy, cc); err != nil {
				return cli.Usage(err)
			}
			return runTraced(cmd, s, &trace, func() error { return runScenario(cmd, s, out, asJSON) })
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.Uint64Var(&seed, "seed", 1, "seed of all that is random; default: the scenario's")
	flags.StringArrayVar(&sets, "set", nil, "set a value of the scenario, as key=value; may be given several times")
	cli.RegisterPolicy(cmd, &policy)
	cli.RegisterCC(cmd, &cc, true)
	flags.StringVar(&out, "out", "", "directory for flows, links and series as CSV and Parquet, and for pictures")
	flags.IntVar(&workers, "workers", 1, "threads that run the simulation; the result does not depend on it")
	trace.Register(cmd, "what each queue pair does")
	flags.BoolVar(&asJSON, "json", false, "print one JSON object, and nothing else")
	return cmd
}

// runTraced runs with the file that --trace asks for. One thread runs the
// simulation then, so that events stand in the order of time; the result does
// not depend on it.
func runTraced(cmd *cobra.Command, s *scenario.Scenario, trace *cli.Trace, run func() error) (err error) {
	if !trace.Wanted() {
		return run()
	}
	if err := s.Set("workers=1"); err != nil {
		return err
	}
	if err := trace.Open(cmd, true); err != nil {
		return err
	}
	defer trace.Close(cmd, &err)
	s.Trace = trace.Device
	return run()
}

// loadScenario reads a scenario that comes with braid, or a file.
func loadScenario(name string) (*scenario.Scenario, error) {
	data, file, err := scenarioFile(name)
	if err != nil {
		return nil, err
	}
	return scenario.Parse(file, data)
}

// scenarioFile returns the text of a scenario and its name for errors.
func scenarioFile(name string) (data []byte, file string, err error) {
	if data, ok := scenarios.Named(name); ok {
		return data, name, nil
	}
	data, err = os.ReadFile(name)
	if err != nil && !strings.ContainsAny(name, "./\\") {
		return nil, "", fmt.Errorf("there is neither a file nor a scenario called %q; 'braid sim list' shows those that come with braid", name)
	}
	return data, name, err
}

func completeScenarios(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return scenarios.Names(), cobra.ShellCompDirectiveDefault
}

// runScenario runs and prints.
func runScenario(cmd *cobra.Command, s *scenario.Scenario, out string, asJSON bool) error {
	r, err := s.Start()
	if err != nil {
		return err
	}
	progress := newSimProgress(cmd, asJSON)
	err = r.Go(cmd.Context(), progress.show)
	progress.end()
	if err != nil {
		return err
	}
	summary := results.Summarise(r)
	if out != "" {
		if err := results.Write(out, r); err != nil {
			return err
		}
	}
	if asJSON {
		return cli.PrintJSON(cmd.OutOrStdout(), summary)
	}
	if err := summary.Text(cmd.OutOrStdout()); err != nil {
		return err
	}
	if out != "" {
		fmt.Fprintln(cmd.OutOrStdout(), "written to "+filepath.Clean(out))
	}
	return nil
}
