package command

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/internal/child"
	"github.com/braid-rdma/braid/internal/demo"
	"github.com/braid-rdma/braid/verbs"
)

// errNotVerified makes a demonstration whose data is not right a failure.
var errNotVerified = errors.New("not verified: see the report for what was wrong")

// newDemo is `braid demo`.
func newDemo(more *More) *cobra.Command {
	var (
		config    demo.Config
		duration  float64
		asJSON    bool
		responder bool
		monitored bool
		trace     cli.Trace
	)
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show one RDMA connection over several paths, one of which fails",
		Long: `demo starts two processes on this machine and connects them over several
paths. It writes, reads, sends and counts, and compares every result. Then it
streams data, cuts one of the paths silently and restores it later, while every
chunk of the stream is checked at the other end. It needs no privilege and no
configuration, and takes some ten seconds.

It fails if a single byte is not what it should be.

--monitor shows something else: a monitor with its page, two agents and some traffic, in
one process, until it is interrupted, or for --duration.`,
		Example: "  braid demo\n  braid demo --paths 8 --duration 12\n  braid demo --json\n  braid demo --monitor",
		Args:    cli.Arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if responder {
				return runResponder(cmd, config.Paths)
			}
			if monitored {
				if !cmd.Flags().Changed("duration") {
					duration = 0 // until it is interrupted
				}
				return more.DemoMonitor(cmd, seconds(duration))
			}
			config.Duration = seconds(duration)
			checked := config.WithDefaults()
			if err := checked.Check(); err != nil {
				return err
			}
			return runDemo(cmd, checked, &trace, asJSON)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.IntVar(&config.Paths, "paths", 4, "paths of the connection")
	flags.IntVar(&config.Size, "size", 16<<20, "bytes of the memory that is written, read and streamed to")
	flags.Float64Var(&duration, "duration", 6, "seconds of the stream; one path is cut in the second third")
	flags.IntVar(&config.CutPath, "cut-path", 1, "the path that is cut")
	cli.RegisterPolicy(cmd, &config.Policy)
	cli.RegisterCC(cmd, &config.CC, false)
	trace.Register(cmd, "what the requester's queue pair does")
	flags.BoolVar(&asJSON, "json", false, "print one JSON object, and nothing else")
	flags.BoolVar(&monitored, "monitor", false, "show the monitor and its page instead")
	flags.BoolVar(&responder, "responder", false, "be the second process")
	// It exists for the process that the command starts itself.
	_ = flags.MarkHidden("responder")
	return cmd
}

// runDemo starts the second process, gives the demonstration and prints it.
// The process is gone when it returns.
func runDemo(cmd *cobra.Command, config demo.Config, trace *cli.Trace, asJSON bool) (err error) {
	if err := trace.Open(cmd, false); err != nil {
		return err
	}
	defer trace.Close(cmd, &err)
	config.Trace = trace.Device("requester")
	second, err := child.Start(cmd.Context(), "demo", "--responder", "--paths", strconv.Itoa(config.Paths))
	if err != nil {
		return err
	}
	defer second.Close()
	out := cmd.OutOrStdout()
	requester := demo.Requester{Config: config, Address: second.Address(), Open: openForDemo, Faults: faultsOf}
	if !asJSON {
		requester.Observe = newDemoDisplay(out, config).show
		fmt.Fprintf(out, "two processes, one connection over %d paths of this machine (second process: %d)\n", config.Paths, second.PID())
	}
	report, err := requester.Run(cmd.Context())
	if err != nil {
		return err
	}
	if asJSON {
		err = cli.PrintJSON(out, report)
	} else {
		err = printDemoSummary(out, report)
	}
	if err == nil && !report.Verified {
		err = errNotVerified
	}
	return err
}

// newDemoDisplay is the progress display for a writer.
func newDemoDisplay(w io.Writer, config demo.Config) demoDisplay {
	if cli.IsTerminal(w) {
		return &demoScreen{w: w, paths: config.Paths}
	}
	return &demoLines{w: w}
}

// runResponder is the second process.
func runResponder(cmd *cobra.Command, paths int) error {
	ctx, stop := child.WithParent(cmd.Context(), cmd.InOrStdin())
	defer stop()
	responder, err := demo.NewResponder(paths, openForDemo)
	if err != nil {
		return err
	}
	defer responder.Close()
	if err := child.Announce(cmd.OutOrStdout(), responder.Address()); err != nil {
		return err
	}
	return responder.Respond(ctx)
}

// openForDemo opens a device with exactly the paths of the demonstration.
func openForDemo(paths int) (*verbs.Device, error) {
	device := opener{paths: paths}
	return device.open(netip.Addr{})
}
