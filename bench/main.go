// Command bench measures braid beside its peers on this machine. Over sockets
// they are iperf3 (one TCP stream), quic-go (one stream) and a plain UDP
// ping-pong, each between two processes on loopback; at given rates the processor time
// of TCP, MPTCP and quic-go stands beside braid's, and a connection among many beside one that is alone. Two pairs of
// processes stand beside one, and a busy machine beside an idle one. Channels stand beside the
// queue pairs under them, gRPC-Go, UCX and net/http over TCP; the simulator beside
// a bare heap, and beside what others have published of theirs.
//
// # The flow
//
//	main ──> build braid ──> suite ──┬─> groups of contestants
//	                     simSuite ──┘
//	     ──> rounds, contestants taking turns ──> best of each ──> report
//
// Figures of one machine at one time mean little by themselves, so every figure
// of braid stands beside a peer's figure of the same run, and the contestants
// take turns within each round: a noisy neighbour then disturbs all of them.
//
// Usage, from the directory of this module:
//
//	go run . [-sockets] [-processor] [-connections] [-cores] [-middleware] [-sim] [-rounds 5] [-seconds 3] [-json | -markdown] [-strict]
//
// It is a module of its own so that the peers are no dependency of braid.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

// errNotMet is returned under -strict when a target is missed or could not be
// compared.
var errNotMet = errors.New("not every target is met")

// options are the command line.
type options struct {
	rounds   int
	seconds  int
	json     bool
	markdown bool
	strict   bool
	// The parts that are measured; none means all.
	sockets     bool
	processor   bool
	connections bool
	cores       bool
	middleware  bool
	sim         bool
	repo        string // where braid's source is
	braid       string // a binary to use instead of building one
}

func main() {
	if role := os.Getenv(roleVariable); role != "" {
		exitWith(playRole(role, os.Stdin, os.Stdout))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	exitWith(err)
}

func exitWith(err error) {
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		os.Exit(0)
	default:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run is the whole command: it measures and writes the report to out, and what
// it is doing meanwhile to progress.
func run(ctx context.Context, args []string, out, progress io.Writer) error {
	opts, err := parseOptions(args, progress)
	if err != nil {
		return err
	}
	var groups []group
	duration := time.Duration(opts.seconds) * time.Second
	if opts.sockets || opts.cores || opts.middleware {
		braidBinary, remove, err := findBraid(ctx, opts)
		if err != nil {
			return err
		}
		defer remove()
		if opts.sockets {
			groups = suite(braidBinary, duration)
		}
		if opts.cores {
			groups = append(groups, coresSuite(braidBinary, duration)...)
		}
		if opts.middleware {
			groups = append(groups, middlewareSuite(braidBinary, duration)...)
		}
	}
	if opts.processor {
		groups = append(groups, processorSuite(duration)...)
	}
	if opts.connections {
		groups = append(groups, crowdSuite(duration)...)
	}
	if opts.sim {
		groups = append(groups, simSuite()...)
	}
	report := newReport(opts)
	for _, g := range groups {
		rows, err := g.measure(ctx, opts.rounds, progress)
		if err != nil {
			return err
		}
		report.Rows = append(report.Rows, rows...)
	}
	if err := report.write(out, opts); err != nil {
		return err
	}
	return report.verdict(opts.strict)
}

func parseOptions(args []string, usage io.Writer) (options, error) {
	var opts options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.IntVar(&opts.rounds, "rounds", 5, "rounds; the best of each contestant counts")
	flags.IntVar(&opts.seconds, "seconds", 3, "seconds that each measurement over sockets lasts")
	flags.BoolVar(&opts.sockets, "sockets", false, "measure queue pairs over sockets; without this and the flags of other parts, all parts")
	flags.BoolVar(&opts.processor, "processor", false, "measure processor time at given rates")
	flags.BoolVar(&opts.connections, "connections", false, "measure one connection among 10,000")
	flags.BoolVar(&opts.cores, "cores", false, "measure two pairs of processes, and a busy machine")
	flags.BoolVar(&opts.middleware, "middleware", false, "measure channels, calls and streams")
	flags.BoolVar(&opts.sim, "sim", false, "measure the simulator")
	flags.BoolVar(&opts.json, "json", false, "print one JSON object")
	flags.BoolVar(&opts.markdown, "markdown", false, "print a Markdown table")
	flags.BoolVar(&opts.strict, "strict", false, "fail when a target is missed or cannot be compared")
	flags.StringVar(&opts.repo, "repo", "..", "directory of braid's source, to build the command from")
	flags.StringVar(&opts.braid, "braid", "", "braid binary to use instead of building one")
	if err := flags.Parse(args); err != nil {
		return opts, err
	}
	switch {
	case flags.NArg() > 0:
		return opts, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case opts.rounds < 1 || opts.rounds > 100:
		return opts, fmt.Errorf("-rounds %d is not between 1 and 100", opts.rounds)
	case opts.seconds < 1 || opts.seconds > 60:
		return opts, fmt.Errorf("-seconds %d is not between 1 and 60", opts.seconds)
	case opts.json && opts.markdown:
		return opts, errors.New("-json and -markdown exclude each other")
	}
	parts := []*bool{&opts.sockets, &opts.processor, &opts.connections, &opts.cores, &opts.middleware, &opts.sim}
	if !slices.ContainsFunc(parts, func(chosen *bool) bool { return *chosen }) {
		for _, part := range parts {
			*part = true
		}
	}
	return opts, nil
}
