package full

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/lab"
)

// newLabFault is `braid lab fault`.
func newLabFault() *cobra.Command {
	cmd := cli.Group(&cobra.Command{
		Use:   "fault",
		Short: "Break a path of a lab, or repair it",
		Long: `fault changes a path of a lab while traffic runs. Nobody in the lab is told:
links stay up, and no message says that something is wrong.`,
		Example: `  braid lab fault cut 1
  braid lab fault cut 1 --direction forward
  braid lab fault loss 2 5
  braid lab fault rate 3 25mbit
  braid lab fault ecn 3 never
  braid lab fault flap 0 --period 500ms --for 10s
  braid lab fault restore 1`,
	})
	cmd.AddCommand(newFaultCut(), newFaultLoss(), newFaultRate(), newFaultECN(), newFaultFlap(), newFaultRestore())
	return cmd
}

// faultCommand makes a command whose first argument is a path.
func faultCommand(cmd *cobra.Command, values int, do func(ctx context.Context, n *lab.Network, path int, args []string) error) *cobra.Command {
	var name string
	cmd.Args = cli.Arguments(cobra.ExactArgs(1 + values))
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		path, err := strconv.Atoi(args[0])
		if err != nil {
			return cli.Usage(fmt.Errorf("path %q: use a number from 0 on", args[0]))
		}
		n, err := lab.Open(name)
		if err != nil {
			return fmt.Errorf("%w: 'braid lab up' builds one", err)
		}
		return do(cmd.Context(), n, path, args[1:])
	}
	labNameFlag(cmd, &name)
	return cmd
}

// directionFlag adds the flag of faults that can be in one direction only.
func directionFlag(cmd *cobra.Command) func() (lab.Direction, error) {
	text := cmd.Flags().String("direction", string(lab.Both), "both, forward (from the first leaf) or backward")
	cli.Complete(cmd, "direction", []string{string(lab.Both), string(lab.Forward), string(lab.Backward)})
	return func() (lab.Direction, error) { return lab.ParseDirection(*text) }
}

func newFaultCut() *cobra.Command {
	cmd := &cobra.Command{Use: "cut PATH", Short: "Lose everything on a path", Example: "  braid lab fault cut 1\n  braid lab fault cut 1 --direction backward"}
	direction := directionFlag(cmd)
	return faultCommand(cmd, 0, func(_ context.Context, n *lab.Network, path int, _ []string) error {
		d, err := direction()
		if err != nil {
			return err
		}
		return n.Cut(path, d)
	})
}

func newFaultRestore() *cobra.Command {
	cmd := &cobra.Command{Use: "restore PATH", Short: "End the loss or the cut of a path, and give it its rate and ECN threshold back", Example: "  braid lab fault restore 1"}
	return faultCommand(cmd, 0, func(_ context.Context, n *lab.Network, path int, _ []string) error {
		if err := n.Restore(path); err != nil {
			return err
		}
		if err := n.SetRate(path, n.Options.Rate); err != nil {
			return err
		}
		return n.SetThreshold(path, n.Options.Threshold)
	})
}

func newFaultLoss() *cobra.Command {
	cmd := &cobra.Command{Use: "loss PATH PERCENT", Short: "Lose packets at random", Example: "  braid lab fault loss 2 0.5"}
	direction := directionFlag(cmd)
	return faultCommand(cmd, 1, func(_ context.Context, n *lab.Network, path int, args []string) error {
		percent, err := strconv.ParseFloat(strings.TrimSuffix(args[0], "%"), 64)
		if err != nil {
			return cli.Usage(fmt.Errorf("loss %q: use 0 to 100, in per cent", args[0]))
		}
		d, err := direction()
		if err != nil {
			return err
		}
		return n.SetLoss(path, percent/100, d)
	})
}

func newFaultRate() *cobra.Command {
	cmd := &cobra.Command{Use: "rate PATH RATE", Short: "Change the rate of a path", Example: "  braid lab fault rate 3 25mbit"}
	return faultCommand(cmd, 1, func(_ context.Context, n *lab.Network, path int, args []string) error {
		rate, err := lab.ParseRate(args[0])
		if err != nil {
			return err
		}
		return n.SetRate(path, rate)
	})
}

func newFaultECN() *cobra.Command {
	cmd := &cobra.Command{Use: "ecn PATH WAIT|never", Short: "Change from which wait on a path marks", Example: "  braid lab fault ecn 3 12ms\n  braid lab fault ecn 3 never"}
	return faultCommand(cmd, 1, func(_ context.Context, n *lab.Network, path int, args []string) error {
		threshold := lab.NoMarks
		if args[0] != "never" {
			var err error
			if threshold, err = time.ParseDuration(args[0]); err != nil {
				return cli.Usage(err)
			}
		}
		return n.SetThreshold(path, threshold)
	})
}

func newFaultFlap() *cobra.Command {
	cmd := &cobra.Command{Use: "flap PATH", Short: "Cut and restore a path in turns, until interrupted", Example: "  braid lab fault flap 0 --period 500ms --for 10s"}
	period := cmd.Flags().Duration("period", time.Second, "time of one cut and one restoration together")
	length := cmd.Flags().Duration("for", 0, "how long (default: until interrupted)")
	return faultCommand(cmd, 0, func(ctx context.Context, n *lab.Network, path int, _ []string) error {
		if *length > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, *length)
			defer cancel()
		}
		return n.Flap(ctx, path, *period)
	})
}
