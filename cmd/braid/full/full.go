// Package full is the command braid with all that it has, for its own main and for programs that add to it: path
// policies, congestion controls and figures that they register have names on the command line,
// in scenarios and in sweeps like those that braid has.
//
//	func main() {
//		transport.PathPolicies.Register(...)
//		full.Main()
//	}
//
// It adds to package command what needs the simulator, the lab or the monitor; here are flags and printing only.
package full

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/braid-rdma/braid/cmd/braid/command"
	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/lab"
	"github.com/braid-rdma/braid/monitor"
)

// Main runs the command line of the process, and ends the process.
func Main() { newProgram().Main() }

func newProgram() *cli.Program {
	return command.New(&command.More{
		Commands: func() []*cobra.Command {
			return []*cobra.Command{newAgent(), newMonitor(), newSim(), newLab(), newMan()}
		},
		Connect:     connect,
		Mesh:        runMesh,
		DemoMonitor: runDemoMonitor,
		Usage:       []error{lab.ErrOptions, lab.ErrNode},
	})
}

// connection is a command.Monitor.
type connection struct{ *monitor.Client }

func connect(_ *cobra.Command, f *cli.MonitorFlags) (command.Monitor, error) {
	c, err := (&monitorFlags{*f}).dial()
	if err != nil {
		return nil, err
	}
	return connection{c}, nil
}

// Hosts implements command.Monitor.
func (c connection) Hosts(ctx context.Context) (names []string, err error) {
	state, err := c.State(ctx)
	if err != nil {
		return nil, err
	}
	for _, h := range state.Hosts {
		names = append(names, h.Name)
	}
	return names, nil
}

// Alarms implements command.Monitor.
func (c connection) Alarms(ctx context.Context, hosts []string) (all []command.Alarm, err error) {
	state, err := c.State(ctx)
	if err != nil {
		return nil, err
	}
	about := slices.Clone(hosts)
	for _, h := range state.Hosts {
		if slices.Contains(hosts, h.Name) || slices.Contains(hosts, command.EveryHost) {
			about = append(about, h.Name, h.Rack)
		}
	}
	for _, a := range state.Alarms {
		if a.Blame == monitor.BlamePath || slices.Contains(about, a.Of) {
			all = append(all, command.Alarm{Line: fmt.Sprintf("%s [%s %s] since %s", a.Says, a.Blame, a.Of, a.Since.Local().Format(time.DateTime)), Whole: a})
		}
	}
	return all, nil
}
