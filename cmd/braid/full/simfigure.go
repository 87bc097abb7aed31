package full

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/figures"
	"github.com/braid-rdma/braid/experiments/table"
)

// errOutside makes a figure whose numbers are not the paper's a failure where
// that is asked for.
var errOutside = errors.New("some numbers are outside their tolerance")

// newSimFigure is `braid sim figure`.
func newSimFigure() *cobra.Command {
	var (
		options figure.Options
		out     string
		asJSON  bool
		strict  bool
	)
	cmd := &cobra.Command{
		Use:   "figure NAME|all",
		Short: "Reproduce a figure of a paper",
		Long: `figure runs the experiment behind a figure of a paper and prints a table of the
published numbers against those measured. With --out it writes the plots as SVG
and the data as CSV; 'all' writes one HTML report of everything.

--quick runs a smaller version that shows the direction and the rough size, and
the report says so.

--json prints {"schema", "seed", "quick", "figures": [{"name", "seconds", "hops",
"table", "notes"}], "within", "outside"}; the last two count numbers by whether
they are within their tolerance.`,
		Example: `  braid sim figure mp-rdma-11a --out figures
  braid sim figure all --quick --out figures`,
		Args:              cli.Arguments(cobra.MinimumNArgs(1)),
		ValidArgsFunction: completeFigures,
		RunE: func(cmd *cobra.Command, args []string) error {
			chosen, err := chooseFigures(args)
			if err != nil {
				return err
			}
			return runFigures(cmd, chosen, options, out, asJSON, strict)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&options.Quick, "quick", false, "run smaller versions")
	flags.StringVar(&out, "out", "", "directory for plots, data and the report")
	flags.Uint64Var(&options.Seed, "seed", 1, "seed of all that is random")
	flags.IntVar(&options.Workers, "workers", 0, "simulations at a time; default: one per processor")
	flags.BoolVar(&strict, "strict", false, "fail if a number is outside its tolerance")
	flags.BoolVar(&asJSON, "json", false, "print one JSON object, and nothing else")
	return cmd
}

func completeFigures(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	names := []string{"all"}
	for _, f := range figures.All() {
		names = append(names, f.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// chooseFigures finds figures by name.
func chooseFigures(names []string) ([]*figure.Figure, error) {
	var chosen []*figure.Figure
	for _, name := range names {
		if name == "all" {
			return figures.All(), nil
		}
		f, ok := figures.Named(name)
		if !ok {
			return nil, cli.Usage(fmt.Errorf("there is no figure %q; 'braid sim list' shows them", name))
		}
		chosen = append(chosen, f)
	}
	return chosen, nil
}

// figureReport is what the command prints as JSON.
type figureReport struct {
	Schema  int             `json:"schema"`
	Seed    uint64          `json:"seed"`
	Quick   bool            `json:"quick"`
	Figures []figureSummary `json:"figures"`
	Within  int             `json:"within"`
	Outside int             `json:"outside"`
}

type figureSummary struct {
	Name    string          `json:"name"`
	Seconds float64         `json:"seconds"`
	Hops    uint64          `json:"hops"`
	Table   json.RawMessage `json:"table"`
	Notes   []string        `json:"notes,omitempty"`
}

func runFigures(cmd *cobra.Command, chosen []*figure.Figure, o figure.Options, out string, asJSON, strict bool) error {
	w := cmd.OutOrStdout()
	summary := figureReport{Schema: 1, Seed: o.Seed, Quick: o.Quick}
	var ran []figures.Ran
	queue := newFigureQueue(cmd, chosen, o, asJSON)
	defer queue.stop()
	for _, f := range chosen {
		outcome, err := queue.next()
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		if out != "" {
			if err := figure.Write(filepath.Join(out, f.Name), outcome); err != nil {
				return err
			}
		}
		ran = append(ran, figures.Ran{Figure: f, Outcome: outcome})
		summary.Within += outcome.Table.Count(table.Within)
		summary.Outside += outcome.Table.Count(table.Outside)
		rows, err := outcome.Table.JSON()
		if err != nil {
			return err
		}
		summary.Figures = append(summary.Figures, figureSummary{f.Name, outcome.Wall.Seconds(), outcome.Hops, rows, outcome.Notes})
		if !asJSON {
			fmt.Fprintf(w, "%s: %s (%s, %s; %.1f s)\n%s%s\n", f.Name, f.Title, f.Paper, f.Section, outcome.Wall.Seconds(), outcome.Table.Text(), notes(outcome.Notes))
		}
	}
	if out != "" {
		if err := writeReport(out, ran, o); err != nil {
			return err
		}
	}
	if asJSON {
		if err := cli.PrintJSON(w, summary); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(w, "%d numbers within their tolerance, %d outside\n", summary.Within, summary.Outside)
		if out != "" {
			fmt.Fprintln(w, "report: "+filepath.Join(out, "index.html"))
		}
	}
	if strict && summary.Outside > 0 {
		return errOutside
	}
	return nil
}

func notes(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString("note: " + line + "\n")
	}
	return b.String()
}

// writeReport makes one page of all figures.
func writeReport(dir string, ran []figures.Ran, o figure.Options) error {
	page, err := figures.Report(ran, o)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "index.html"), page, 0o644)
}
