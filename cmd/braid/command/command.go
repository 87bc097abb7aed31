// Package command is the command braid, for its own main and for programs that add to it: path
// policies, congestion controls and figures that they register have names on the command line,
// in scenarios and in sweeps like those that braid has.
//
//	func main() {
//		transport.PathPolicies.Register(...)
//		command.Main()
//	}
//
// This package has the flags and the printing; what the commands do is in
// internal/perf, internal/demo, experiments and lab.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/braid-rdma/braid/internal/demo"
	"github.com/braid-rdma/braid/internal/perf"
	"github.com/braid-rdma/braid/lab"
)

// Exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130 // as shells report a program that SIGINT ended
)

// Main runs the command line of the process, and ends the process.
func Main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run executes a command line and returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	executed, err := root.ExecuteContextC(ctx)
	switch {
	case err == nil:
		return exitOK
	case ctx.Err() != nil:
		// Whatever failed then, failed because the user asked for the end.
		fmt.Fprintln(stderr, "braid: interrupted")
		return exitInterrupted
	}
	fmt.Fprintln(stderr, "braid:", err)
	if isUsage(err) {
		fmt.Fprintf(stderr, "Try '%s --help'.\n", executed.CommandPath())
		return exitUsage
	}
	return exitFailed
}

// usageError is a command line that makes no sense.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// isUsage says whether an error is the command line's fault.
func isUsage(err error) bool {
	var usage usageError
	return errors.As(err, &usage) || errors.Is(err, perf.ErrSpec) || errors.Is(err, demo.ErrConfig) ||
		errors.Is(err, lab.ErrOptions) || errors.Is(err, lab.ErrNode)
}
