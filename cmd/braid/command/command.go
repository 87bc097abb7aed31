// Package command is the everyday command braid: what measures, shows and looks. Simulator, lab, agent and monitor, which
// need much more code, are in package full; this one finds the program that has them (see handOver) and lets it do the rest.
//
// This package has the flags and the printing; what the commands do is in internal/perf, internal/demo, internal/ping and operate.
package command

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/internal/demo"
	"github.com/braid-rdma/braid/internal/perf"
	"github.com/braid-rdma/braid/operate"
)

// Main runs the everyday command, and ends the process.
func Main() { New(light()).Main() }

// More is what the full command has besides the everyday one.
type More struct {
	// Commands are those that this package does not have.
	Commands func() []*cobra.Command
	// Connect connects to a monitor.
	Connect func(cmd *cobra.Command, f *cli.MonitorFlags) (Monitor, error)
	// Mesh is `braid ping --mesh`, and DemoMonitor `braid demo --monitor`.
	Mesh        func(cmd *cobra.Command, f *cli.MonitorFlags, asJSON bool) error
	DemoMonitor func(cmd *cobra.Command, duration time.Duration) error
	// Usage are errors for which the command line is to blame.
	Usage []error
}

// Monitor is a connection to a monitor, by which programs of other machines are reached.
type Monitor interface {
	// Hosts are the machines that report.
	Hosts(ctx context.Context) ([]string, error)
	// Programs are those of a machine.
	Programs(ctx context.Context, host string) ([]*operate.Program, error)
	// Alarms are those about some machines, or about all if one is everyHost, about their racks, and about paths.
	Alarms(ctx context.Context, hosts []string) ([]Alarm, error)
	Close()
}

// Alarm is something that is wrong.
type Alarm struct {
	Line  string // for people
	Whole any    // for programs
}

// New makes the command.
func New(more *More) *cli.Program {
	root := cli.Group(&cobra.Command{
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
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return cli.Usage(err) })
	root.AddCommand(newDemo(more), newPerf(), newPing(more), newStat(more), newWhy(more), newAdm(more), newVersion())
	root.AddCommand(more.Commands()...)
	return &cli.Program{Root: root, Usage: append([]error{perf.ErrSpec, demo.ErrConfig}, more.Usage...)}
}
