package full

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/experiments/table"
	"github.com/braid-rdma/braid/lab/traffic"
	"github.com/braid-rdma/braid/lab/trials"
)

// errMissed makes a trial that misses its figures a failure where that is asked for.
var errMissed = errors.New("some figures are not what braid promises")

// labRun are the flags of a run.
type labRun struct {
	options trials.Options
	kinds   []string
	out     string
	asJSON  bool
	strict  bool
}

// newLabRun is `braid lab run`.
func newLabRun() *cobra.Command {
	var run labRun
	cmd := &cobra.Command{
		Use:   "run NAME...|all",
		Short: "Measure braid beside TCP and MPTCP in a lab",
		Long: "run builds a lab of its own, runs trials in it and removes it. Every trial runs\n" +
			"with braid's multi-path and standard queue pairs, the kernel's TCP and its MPTCP.\n\n" + trialList(),
		Example: `  braid lab run cuts
  braid lab run loss cuts --quick --json
  braid lab run all --out results`,
		Args: cli.Arguments(cobra.MinimumNArgs(1)),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return append(trialNames(), "all"), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			chosen, err := chooseTrials(args)
			if err != nil {
				return err
			}
			return run.run(cmd, chosen)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&run.options.Quick, "quick", false, "shorter runs, one of each only, over slower paths")
	flags.StringVar(&run.options.TCPControl, "tcp-cc", "", "congestion control of TCP and MPTCP (default: the kernel's)")
	flags.StringSliceVar(&run.kinds, "kinds", nil, "kinds of traffic, of mp, rc, tcp, mptcp (default: all)")
	flags.StringVar(&run.out, "out", "", "directory for tables (text, CSV) and plots (SVG), one folder for each trial")
	flags.BoolVar(&run.strict, "strict", false, "fail if a figure is not what braid promises")
	flags.BoolVar(&run.asJSON, "json", false, "print one JSON object, and nothing else")
	return cmd
}

func trialNames() []string {
	var names []string
	for _, t := range trials.All() {
		names = append(names, t.Name)
	}
	return names
}

func trialList() string {
	var b strings.Builder
	for _, t := range trials.All() {
		fmt.Fprintf(&b, "  %-12s %s", t.Name, t.Title)
		if t.Figure != "" {
			fmt.Fprintf(&b, " (%s)", t.Figure)
		}
		fmt.Fprintln(&b)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func chooseTrials(names []string) ([]trials.Trial, error) {
	var chosen []trials.Trial
	for _, name := range names {
		if name == "all" {
			return trials.All(), nil
		}
		t, err := trials.Named(name)
		if err != nil {
			return nil, cli.Usage(fmt.Errorf("%w: there are %s", err, strings.Join(trialNames(), ", ")))
		}
		chosen = append(chosen, *t)
	}
	return chosen, nil
}

// labReport is what the command prints as JSON.
type labReport struct {
	Schema int           `json:"schema"`
	Quick  bool          `json:"quick"`
	Trials []trialReport `json:"trials"`
	Missed int           `json:"missed"` // figures that are not what braid promises
}

type trialReport struct {
	Name    string      `json:"name"`
	Seconds float64     `json:"seconds"`
	Grid    trials.Grid `json:"grid"`
	Figures []judged    `json:"figures"`
	Notes   []string    `json:"notes,omitempty"`
}

// judged is a figure with its bound.
type judged struct {
	Quantity string  `json:"quantity"`
	Unit     string  `json:"unit,omitempty"`
	Measured float64 `json:"measured"`
	Bound    string  `json:"bound"`
	Met      bool    `json:"met"`
}

// run runs the trials one after the other.
func (l *labRun) run(cmd *cobra.Command, chosen []trials.Trial) error {
	executable, err := os.Executable()
	if err != nil {
		return err
	}
	l.options.Command = []string{executable, "lab", "agent"}
	for _, name := range l.kinds {
		kind, err := traffic.ParseKind(name)
		if err != nil {
			return cli.Usage(err)
		}
		l.options.Kinds = append(l.options.Kinds, kind)
	}
	summary := labReport{Schema: 1, Quick: l.options.Quick}
	for i := range chosen {
		t := &chosen[i]
		outcome, err := l.runTrial(cmd, t)
		if err != nil {
			return err
		}
		if l.out != "" {
			if err := outcome.Write(filepath.Join(l.out, t.Name)); err != nil {
				return err
			}
		}
		summary.Trials = append(summary.Trials, reportOf(t, outcome))
		summary.Missed += outcome.Table.Count(table.Outside)
		if !l.asJSON {
			printTrial(cmd, t, outcome)
		}
	}
	if l.asJSON {
		if err := cli.PrintJSON(cmd.OutOrStdout(), summary); err != nil {
			return err
		}
	}
	if l.strict && summary.Missed > 0 {
		return errMissed
	}
	return nil
}

func (l *labRun) runTrial(cmd *cobra.Command, t *trials.Trial) (*trials.Outcome, error) {
	progress := newSimProgress(cmd, l.asJSON)
	defer progress.end()
	o := l.options
	o.Progress = func(text string) { progress.say(func() string { return t.Name + ": " + text }) }
	return t.Run(cmd.Context(), o)
}

func printTrial(cmd *cobra.Command, t *trials.Trial, o *trials.Outcome) {
	w := cmd.OutOrStdout()
	fmt.Fprintf(w, "%s: %s", t.Name, o.Grid.Text())
	for _, f := range reportOf(t, o).Figures {
		verdict := "yes"
		if !f.Met {
			verdict = "NO"
		}
		fmt.Fprintf(w, "  %-3s %s: %.4g %s (%s)\n", verdict, f.Quantity, f.Measured, f.Unit, f.Bound)
	}
	fmt.Fprint(w, notes(o.Notes), "\n")
}

func reportOf(t *trials.Trial, o *trials.Outcome) trialReport {
	r := trialReport{Name: t.Name, Seconds: o.Wall.Seconds(), Grid: o.Grid, Notes: o.Notes}
	for _, row := range o.Table {
		r.Figures = append(r.Figures, judged{row.Quantity, row.Unit, row.Measured, row.Tolerance.String(), row.Verdict() == table.Within})
	}
	return r
}

// newLabAgent is the process that sends, receives or probes in a trial.
func newLabAgent() *cobra.Command {
	return &cobra.Command{
		Use:    "agent ROLE SPECIFICATION",
		Short:  "Send, receive or probe for a trial; started by 'braid lab run'",
		Hidden: true,
		Args:   cli.Arguments(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return trials.Agent(cmd.Context(), args, cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
}
