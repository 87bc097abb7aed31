package full

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/monitor"
)

// runMesh is `braid ping --mesh`: what all agents see of each other.
func runMesh(cmd *cobra.Command, f *cli.MonitorFlags, asJSON bool) error {
	client, err := (&monitorFlags{*f}).dial()
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(cmd.Context(), 10*time.Second)
	defer cancel()
	state, err := client.State(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return cli.PrintJSON(cmd.OutOrStdout(), state)
	}
	printMesh(cmd.OutOrStdout(), state)
	return nil
}

// printMesh prints a matrix: who probes is a row, who replies a column.
func printMesh(w io.Writer, s *monitor.State) {
	cells := map[[2]string]*monitor.Cell{}
	for i := range s.Mesh {
		c := &s.Mesh[i]
		cells[[2]string{c.From, c.To}] = c
	}
	fmt.Fprintf(w, "%d hosts, windows of %v; 99th percentile of the network's time in us, or loss; . is not probed, ? does not report\n", len(s.Hosts), s.Window)
	if s.Split {
		fmt.Fprintf(w, "%d of %d probes were lost in the last window. The matrix of so many hosts is on the page of the monitor.\n", s.Total.Lost, s.Total.Sent)
	} else {
		printMatrix(w, s, cells)
	}
	for _, a := range s.Alarms {
		fmt.Fprintf(w, "ALARM [%s %s] since %s: %s\n", a.Blame, a.Of, a.Since.Local().Format(time.DateTime), a.Says)
	}
}

func printMatrix(w io.Writer, s *monitor.State, cells map[[2]string]*monitor.Cell) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "FROM\tRACK\t")
	for _, to := range s.Hosts {
		fmt.Fprintf(t, "%s\t", to.Name)
	}
	fmt.Fprintln(t)
	for _, from := range s.Hosts {
		fmt.Fprintf(t, "%s\t%s\t", from.Name, from.Rack)
		for _, to := range s.Hosts {
			fmt.Fprintf(t, "%s\t", meshCell(&from, cells[[2]string{from.Name, to.Name}]))
		}
		fmt.Fprintln(t)
	}
	t.Flush()
}

// meshCell is what one host saw of another. No data is apart from no loss.
func meshCell(from *monitor.HostState, c *monitor.Cell) string {
	switch {
	case from.Stale:
		return "?"
	case c == nil || c.Sent == 0:
		return "."
	case c.Lost > 0:
		return fmt.Sprintf("%.0f%%", 100*float64(c.Lost)/float64(c.Sent))
	}
	return fmt.Sprintf("%.0f", float64(c.Network.Nanoseconds())/1e3)
}
