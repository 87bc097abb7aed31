package command

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// newRoot makes the command with all its subcommands.
func newRoot() *cobra.Command {
	root := group(&cobra.Command{
		Use:   "braid",
		Short: "RDMA over many paths, on any NIC",
		Long: `braid is RDMA over all paths of a network, on any NIC, without special
hardware, kernel module or privilege (lab alone needs root). Start with 'braid demo'.`,
		Example: `  braid demo
  braid perf write bw --loopback
  braid perf serve
  braid ping --loopback -c 8
  braid stat --watch
  braid why
  braid sim run quickstart
  braid lab run cuts`,
	})
	root.SilenceUsage = true
	root.SilenceErrors = true
	root.DisableAutoGenTag = true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(newDemo(), newPerf(), newPing(), newStat(), newWhy(), newAdm(), newAgent(), newMonitor(), newSim(), newLab(), newVersion(), newMan())
	return root
}

// group makes a command that has only subcommands: alone it shows its help,
// and a word that names none of them is a usage error.
func group(cmd *cobra.Command) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		message := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			message += ": did you mean " + strings.Join(near, " or ") + "?"
		}
		return usageError{fmt.Errorf("%s", message)}
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	// cobra sets it only when it looks for an unknown word itself.
	cmd.SuggestionsMinimumDistance = 2
	return cmd
}

// arguments makes a check of the number of arguments a usage error.
func arguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{err}
		}
		return nil
	}
}

// printEvent prints one of several objects, on a line.
func printEvent(w io.Writer, v any) error { return json.NewEncoder(w).Encode(v) }

// printJSON prints one object for people and programs.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
