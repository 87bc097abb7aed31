package full

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/lab"
)

// newLab is `braid lab`.
func newLab() *cobra.Command {
	cmd := cli.Group(&cobra.Command{
		Use:   "lab",
		Short: "Build a leaf-spine network on this machine, break it, and measure",
		Long: `lab builds a leaf-spine of network namespaces on this machine, with the kernel's
own ECMP routing, queues and ECN marks. Hosts are h0, h1, ...; leaves t0, t1;
spines s0, s1, ...: a path is a spine. It needs root.`,
		Example: `  braid lab up
  braid lab exec h9 -- braid perf serve
  braid lab exec h0 -- braid perf write bw 10.2.4.2 -D 5
  braid lab fault cut 1
  braid lab status
  braid lab down
  braid lab run cuts --out results`,
	})
	cmd.AddCommand(newLabUp(), newLabDown(), newLabStatus(), newLabExec(), newLabFault(), newLabRun(), newLabAgent())
	return cmd
}

// rateFlag is a flag whose value is a rate.
type rateFlag struct{ value *int64 }

func (f rateFlag) String() string {
	if f.value == nil || *f.value == 0 {
		return ""
	}
	return lab.FormatRate(*f.value)
}

func (f rateFlag) Set(text string) (err error) {
	*f.value, err = lab.ParseRate(text)
	return err
}

func (f rateFlag) Type() string { return "rate" }

// labNameFlag adds the flag that names the lab.
func labNameFlag(cmd *cobra.Command, name *string) {
	cmd.Flags().StringVar(name, "name", lab.Options{}.WithDefaults().Name, "name of the lab: what its namespaces' names begin with")
}

func newLabUp() *cobra.Command {
	o := lab.Options{}.WithDefaults()
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Build a lab",
		Long: `up builds a lab; without flags it is the testbed of the MP-RDMA paper: 10 hosts, 2
leaves, 4 paths. A lab that is up with the same options is left as it is. If up
fails or is interrupted, nothing is left behind.`,
		Example: `  braid lab up
  braid lab up --hosts 1 --spines 2 --rate 500mbit --delay 10ms --ecn 2ms`,
		Args: cli.Arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			n, err := lab.Up(cmd.Context(), o)
			if err != nil {
				return err
			}
			return showLab(cmd, n, asJSON)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	labNameFlag(cmd, &o.Name)
	flags.IntVar(&o.HostsPerLeaf, "hosts", o.HostsPerLeaf, "hosts per leaf")
	flags.IntVar(&o.Leaves, "leaves", o.Leaves, "leaves")
	flags.IntVar(&o.Spines, "spines", o.Spines, "spines, which are the paths")
	flags.Var(rateFlag{&o.Rate}, "rate", "rate of each path")
	flags.Var(rateFlag{&o.HostRate}, "host-rate", "rate from a leaf to each host (default: not limited)")
	flags.DurationVar(&o.Delay, "delay", o.Delay, "longest wait in the queue of a port; beyond it packets are dropped")
	flags.DurationVar(&o.Threshold, "ecn", o.Threshold, "wait from which packets are marked (ECN); -1ns: never")
	flags.IntVar(&o.MTU, "mtu", o.MTU, "MTU of the links")
	flags.BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func newLabDown() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Remove a lab and everything that runs in it",
		Long: `down removes all namespaces of a lab and ends the programs in them. It also
removes what a killed 'braid lab' left half built. If there is none, all is well.`,
		Example: `  braid lab down
  braid lab down --name mylab`,
		Args: cli.Arguments(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return lab.Down(name) },
	}
	labNameFlag(cmd, &name)
	return cmd
}

func newLabStatus() *cobra.Command {
	var name string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show a lab: its hosts, its paths and what they have carried",
		Example: `  braid lab status
  braid lab status --json`,
		Args: cli.Arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			n, err := lab.Open(name)
			if err != nil {
				return fmt.Errorf("%w: 'braid lab up' builds one", err)
			}
			return showLab(cmd, n, asJSON)
		},
	}
	labNameFlag(cmd, &name)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// labStatus is what the command prints as JSON.
type labStatus struct {
	Schema int `json:"schema"`
	*lab.Status
}

func showLab(cmd *cobra.Command, n *lab.Network, asJSON bool) error {
	status, err := n.Status()
	if err != nil {
		return err
	}
	if asJSON {
		return cli.PrintJSON(cmd.OutOrStdout(), labStatus{1, status})
	}
	return printStatus(cmd.OutOrStdout(), status)
}

// printStatus prints hosts and paths for people.
func printStatus(out io.Writer, s *lab.Status) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "lab %s: %d leaves, %d hosts each, %d paths, MTU %d\n\n", s.Options.Name, s.Options.Leaves, s.Options.HostsPerLeaf, s.Options.Spines, s.Options.MTU)
	fmt.Fprintln(w, "host\tleaf\taddress\tpinned to paths")
	for _, node := range s.Nodes {
		if node.Role == lab.Host {
			fmt.Fprintf(w, "%s\tt%d\t%v\t%v\n", node.Name, node.Leaf, node.Addr, node.Pinned)
		}
	}
	fmt.Fprintln(w, "\npath\trate\tmarks from\tdirection\tloss\tpackets\tbytes\tmarked\tlost\tdropped")
	for _, p := range s.Paths {
		for _, d := range []struct {
			name string
			flow lab.Flow
		}{{"forward", p.Forward}, {"backward", p.Backward}} {
			fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\n", p.Path, lab.FormatRate(p.Rate), threshold(p.Threshold),
				d.name, lossText(d.flow.Loss), d.flow.Packets, d.flow.Bytes, d.flow.Marked, d.flow.Lost, d.flow.Dropped)
		}
	}
	return w.Flush()
}

func threshold(t time.Duration) string {
	if t == lab.NoMarks {
		return "never"
	}
	return t.String()
}

func lossText(probability float64) string {
	if probability == 1 {
		return "cut"
	}
	return fmt.Sprintf("%.3g%%", 100*probability)
}

func newLabExec() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "exec NODE -- PROGRAM [ARGUMENT...]",
		Short: "Run a program in a node of a lab",
		Long: `exec becomes a program in the network of a node: a host (h0), a leaf (t0) or a
spine (s0). Only the network is the node's; files and processes are the machine's.`,
		Example: `  braid lab exec h0 -- ip address
  braid lab exec h9 -- braid perf serve`,
		Args: cli.Arguments(cobra.MinimumNArgs(2)),
		RunE: func(_ *cobra.Command, args []string) error {
			n, err := lab.Open(name)
			if err != nil {
				return fmt.Errorf("%w: 'braid lab up' builds one", err)
			}
			program, err := exec.LookPath(args[1])
			if err != nil {
				return err
			}
			return n.Exec(args[0], program, args[1:], os.Environ())
		},
	}
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		n, err := lab.Open(name)
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return n.Hosts(), cobra.ShellCompDirectiveNoFileComp
	}
	labNameFlag(cmd, &name)
	return cmd
}
