// Package cli is what the everyday command and the full one have in common: how a command line is run and fails, and how results
// are printed.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// Exit codes.
const (
	ExitOK          = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitInterrupted = 130 // as shells report a program that SIGINT ended
)

const (
	// DefaultPingPort is where pings are replied to.
	DefaultPingPort = 18516
	// NoSpin lets a thread that waits sleep at once: between two probes there is more time than it
	// would spin for, which only costs.
	NoSpin = -1
)

// Program is a command with its subcommands.
type Program struct {
	Root  *cobra.Command
	Usage []error // for which the command line is to blame
}

// Main runs the command line of the process, and ends the process.
func (p *Program) Main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := p.Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// arguments is the key of a context under which the arguments of the program are.
type arguments struct{}

// ArgumentsOf are those of the program, with the names of commands.
func ArgumentsOf(cmd *cobra.Command) []string {
	args, _ := cmd.Root().Context().Value(arguments{}).([]string)
	return args
}

// Run executes a command line and returns the exit code.
func (p *Program) Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	p.Root.SetArgs(args)
	p.Root.SetIn(stdin)
	p.Root.SetOut(stdout)
	p.Root.SetErr(stderr)
	executed, err := p.Root.ExecuteContextC(context.WithValue(ctx, arguments{}, args))
	switch {
	case err == nil:
		return ExitOK
	case ctx.Err() != nil:
		// Whatever failed then, failed because the user asked for the end.
		fmt.Fprintln(stderr, "braid: interrupted")
		return ExitInterrupted
	}
	fmt.Fprintln(stderr, "braid:", err)
	if p.isUsage(err) {
		fmt.Fprintf(stderr, "Try '%s --help'.\n", executed.CommandPath())
		return ExitUsage
	}
	return ExitFailed
}

// isUsage says whether an error is the command line's fault.
func (p *Program) isUsage(err error) bool {
	return errors.As(err, new(UsageError)) || slices.ContainsFunc(p.Usage, func(one error) bool { return errors.Is(err, one) })
}

// UsageError is a command line that makes no sense.
type UsageError struct{ error }

// Usage makes an error the fault of the command line.
func Usage(err error) UsageError { return UsageError{err} }

// Unwrap implements errors.Unwrap.
func (e UsageError) Unwrap() error { return e.error }

// Group makes a command that has only subcommands: alone it shows its help,
// and a word that names none of them is a usage error.
func Group(cmd *cobra.Command) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		message := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			message += ": did you mean " + strings.Join(near, " or ") + "?"
		}
		return Usage(errors.New(message))
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	// cobra sets it only when it looks for an unknown word itself.
	cmd.SuggestionsMinimumDistance = 2
	return cmd
}

// Arguments makes a check of the number of arguments a usage error.
func Arguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return Usage(err)
		}
		return nil
	}
}

// PrintEvent prints one of several objects, on a line.
func PrintEvent(w io.Writer, v any) error { return json.NewEncoder(w).Encode(v) }

// PrintJSON prints one object for people and programs.
func PrintJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// IsTerminal says whether a writer is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Pause waits, unless the context ends.
func Pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
