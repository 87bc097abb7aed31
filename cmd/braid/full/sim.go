package full

import (
	"github.com/spf13/cobra"

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/sim"
)

// newSim is `braid sim`.
func newSim() *cobra.Command {
	cmd := cli.Group(&cobra.Command{
		Use:   "sim",
		Short: "Run braid's transport in a simulated datacenter",
		Long: `sim runs the transport that moves real packets, unchanged, in a datacenter in
virtual time. A run is a function of its scenario and seed: it gives the same
bytes on every machine, with any number of workers.`,
		Example: `  braid sim list
  braid sim run quickstart
  braid sim run my.yaml --set transports.mp.delta=16 --out results
  braid sim figure mp-rdma-11a --quick --out figures
  braid sim fuzz --seeds 100`,
	})
	cmd.PersistentPreRun = func(*cobra.Command, []string) { sim.CollectSeldom() }
	cmd.AddCommand(newSimRun(), newSimFigure(), newSimList(), newSimSweep(), newSimWorker(), newSimFuzz())
	return cmd
}
