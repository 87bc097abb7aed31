package full

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/experiments/figures"
	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/experiments/scenarios"
)

// simCatalogue is what there is to run.
type simCatalogue struct {
	Schema     int             `json:"schema"`
	Figures    []simFigureItem `json:"figures"`
	Scenarios  []simItem       `json:"scenarios"`
	Topologies []string        `json:"topologies"`
	Workloads  []string        `json:"workloads"`
}

type simItem struct {
	Name  string `json:"name"`
	Title string `json:"title"`
}

type simFigureItem struct {
	simItem
	Paper   string `json:"paper"`
	Section string `json:"section"`
}

// newSimList is `braid sim list`.
func newSimList() *cobra.Command {
	var asJSON bool
	var fields string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List figures, scenarios, topologies and workloads",
		Long: `list lists what can be run and what scenarios can be made of.

--json prints {"schema", "figures", "scenarios", "topologies", "workloads"}, and
with --fields {"schema", "fields"}.`,
		Example: "  braid sim list\n  braid sim list --fields quickstart\n  braid sim list --json",
		Args:    cli.Arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if fields != "" {
				return listFields(cmd.OutOrStdout(), fields, asJSON)
			}
			c, err := catalogue()
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(cmd.OutOrStdout(), c)
			}
			return c.print(cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&fields, "fields", "", "list the fields of a scenario that --set can change")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object, and nothing else")
	return cmd
}

func catalogue() (*simCatalogue, error) {
	c := &simCatalogue{Schema: 1, Topologies: scenario.TopologyKinds(), Workloads: scenario.WorkloadKinds()}
	for _, f := range figures.All() {
		c.Figures = append(c.Figures, simFigureItem{simItem{f.Name, f.Title}, f.Paper, f.Section})
	}
	for _, name := range scenarios.Names() {
		s, err := loadScenario(name)
		if err != nil {
			return nil, err
		}
		c.Scenarios = append(c.Scenarios, simItem{name, s.Name})
	}
	return c, nil
}

func (c *simCatalogue) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "figures (braid sim figure NAME)")
	for _, f := range c.Figures {
		fmt.Fprintf(t, "  %s\t%s\t%s\n", f.Name, f.Section, f.Title)
	}
	fmt.Fprintln(t, "\nscenarios (braid sim run NAME)")
	for _, s := range c.Scenarios {
		fmt.Fprintf(t, "  %s\t%s\n", s.Name, s.Title)
	}
	fmt.Fprintln(t, "\ntopologies")
	for _, name := range c.Topologies {
		fmt.Fprintf(t, "  %s\n", name)
	}
	fmt.Fprintln(t, "\nworkloads")
	for _, name := range c.Workloads {
		fmt.Fprintf(t, "  %s\n", name)
	}
	return t.Flush()
}

func listFields(w io.Writer, name string, asJSON bool) error {
	s, err := loadScenario(name)
	if err != nil {
		return err
	}
	fields := s.Fields()
	if asJSON {
		return cli.PrintJSON(w, map[string]any{"schema": 1, "fields": fields})
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range fields {
		fmt.Fprintf(t, "%s\t%s\t%s\n", f.Name, f.Value, f.Want)
	}
	return t.Flush()
}
