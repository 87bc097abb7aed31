package command

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/user"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/operate"
)

// newAdm is `braid adm`.
func newAdm(more *More) *cobra.Command {
	cmd := cli.Group(&cobra.Command{
		Use:   "adm",
		Short: "Show and change the parameters of running programs",
		Long: `adm shows the parameters of programs of this user that use braid, and changes those
that can change while a program runs (X-RDMA's XR-adm, table III). A change is
checked by every program that it is for before the first obeys, and is refused as a
whole; each program remembers who changed what and when, and can go back.

Programs of other machines are reached by way of their agents and the monitor: --host,
with the token of an operator, or of a reader where nothing is changed.`,
		Example: `  braid adm show
  braid adm set keepalive=5s --all
  braid adm set trace=req-rsp trace_sample_mask=1023 4711
  braid adm set memory=256MiB --label role=db --canary 1
  braid adm set window=128 --host '*' --label role=db --canary 2 --join-file join-operator
  braid adm history
  braid adm rollback 4711`,
	})
	cmd.AddCommand(newAdmShow(more), newAdmSet(more), newAdmHistory(more), newAdmRollBack(more))
	return cmd
}

// admFlags are those that the commands of `braid adm` share.
type admFlags struct {
	programs
	asJSON bool
}

func (f *admFlags) register(cmd *cobra.Command, more *More) {
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringSliceVarP(&f.labels, "label", "l", nil, "only programs with this label, name=value")
	flags.BoolVar(&f.asJSON, "json", false, "print one JSON object, and nothing else")
	f.registerHosts(cmd, more)
	cmd.ValidArgsFunction = completePrograms
}

// ofProgram is something of one program, in JSON.
type ofProgram[T any] struct {
	Program operate.Identity `json:"program"`
	Result  T                `json:"result"`
}

// admReport is what the commands print as JSON.
type admReport[T any] struct {
	Schema   int            `json:"schema"`
	Programs []ofProgram[T] `json:"programs"`
}

// admAsk asks each program the same, and prints what they say: as JSON, or as print does.
func admAsk[T any](cmd *cobra.Command, f *admFlags, args []string, ask func(*operate.Program) (T, error), print func(io.Writer, []ofProgram[T])) error {
	if err := f.parse(args); err != nil {
		return err
	}
	defer f.disconnect()
	programs, err := f.connect(cmd)
	if err != nil {
		return err
	}
	defer closePrograms(programs)
	var all []ofProgram[T]
	var wrong []error
	for _, p := range programs {
		result, err := ask(p)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		all = append(all, ofProgram[T]{p.Identity, result})
	}
	w := cmd.OutOrStdout()
	if f.asJSON {
		wrong = append(wrong, cli.PrintJSON(w, admReport[T]{1, all}))
	} else {
		print(w, all)
	}
	return errors.Join(wrong...)
}

func newAdmShow(more *More) *cobra.Command {
	var f admFlags
	cmd := &cobra.Command{
		Use:   "show [PID | HOST] ...",
		Short: "Show parameters, and where programs differ",
		Long: `show lists the parameters of programs with their values. Where programs differ,
each value has those that have it. A * marks what can change while they run.`,
		Example: `  braid adm show
  braid adm show 4711 --json`,
		Args: cli.Arguments(cobra.ArbitraryArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			ask := func(p *operate.Program) ([]operate.Parameter, error) { return p.Parameters(cmd.Context()) }
			return admAsk(cmd, &f, args, ask, printParameters)
		},
	}
	f.register(cmd, more)
	return cmd
}

// printParameters prints one table for all programs.
func printParameters(w io.Writer, all []ofProgram[[]operate.Parameter]) {
	values := map[string]map[string][]string{} // programs by value by name
	var order []operate.Parameter
	for _, p := range all {
		for _, parameter := range p.Result {
			if values[parameter.Name] == nil {
				values[parameter.Name] = map[string][]string{}
				order = append(order, parameter)
			}
			has := values[parameter.Name]
			has[parameter.Value] = append(has[parameter.Value], p.Program.String())
		}
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tVALUE\t\tDESCRIPTION")
	for _, parameter := range order {
		mark, has := "", values[parameter.Name]
		if parameter.Online {
			mark = "*"
		}
		for i, value := range slices.Sorted(maps.Keys(has)) {
			name, description := parameter.Name, parameter.Description
			if i > 0 {
				name, description = "", ""
			}
			if len(has) > 1 {
				value += " (" + strings.Join(has[value], ", ") + ")"
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", name, value, mark, description)
		}
	}
	t.Flush()
}

func newAdmHistory(more *More) *cobra.Command {
	var f admFlags
	cmd := &cobra.Command{
		Use:     "history [PID | HOST] ...",
		Short:   "Show who changed what and when",
		Long:    `history lists the changes of parameters that programs remember, the last hundred of each.`,
		Example: `  braid adm history`,
		Args:    cli.Arguments(cobra.ArbitraryArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			ask := func(p *operate.Program) ([]operate.Change, error) { return p.History(cmd.Context()) }
			return admAsk(cmd, &f, args, ask, func(w io.Writer, all []ofProgram[[]operate.Change]) {
				for _, p := range all {
					for i := range p.Result {
						printChange(w, &p.Program, &p.Result[i])
					}
				}
			})
		},
	}
	f.register(cmd, more)
	return cmd
}

func newAdmRollBack(more *More) *cobra.Command {
	var (
		f      admFlags
		change int
	)
	cmd := &cobra.Command{
		Use:   "rollback {PID | HOST} ...",
		Short: "Undo a change",
		Long: `rollback gives parameters the values that they had before a change: the last one
that was not undone, or the one with a number. It is refused where somebody has changed
the same since.`,
		Example: `  braid adm rollback 4711
  braid adm rollback 4711 --change 3`,
		Args: cli.Arguments(cobra.ArbitraryArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args)+len(f.labels)+len(f.hosts) == 0 {
				return cli.Usage(errors.New("rollback needs a process, a --label or a --host"))
			}
			ask := func(p *operate.Program) (*operate.Change, error) {
				return p.RollBack(cmd.Context(), change, operator())
			}
			return admAsk(cmd, &f, args, ask, printChanges)
		},
	}
	f.register(cmd, more)
	cmd.Flags().IntVar(&change, "change", 0, "the number of the change; default: the last one")
	return cmd
}

// operator is who changes something.
func operator() string {
	if name := os.Getenv("SUDO_USER"); name != "" {
		return name
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return fmt.Sprintf("user %d", os.Getuid())
}

func printChanges(w io.Writer, all []ofProgram[*operate.Change]) {
	for i := range all {
		printChange(w, &all[i].Program, all[i].Result)
	}
}

func printChange(w io.Writer, p *operate.Identity, c *operate.Change) {
	var what []string
	for _, name := range slices.Sorted(maps.Keys(c.After)) {
		what = append(what, fmt.Sprintf("%s %s -> %s", name, c.Before[name], c.After[name]))
	}
	undoes := ""
	if c.Undoes != 0 {
		undoes = fmt.Sprintf(", undoes %d", c.Undoes)
	}
	fmt.Fprintf(w, "%v: change %d, %s by %s%s: %s\n", p, c.Number, c.At.Local().Format(time.DateTime), c.By, undoes, strings.Join(what, ", "))
}
