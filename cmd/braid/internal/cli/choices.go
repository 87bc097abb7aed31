package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/braid-rdma/braid/transport"
)

// RegisterPolicy adds the flag that names a path policy.
func RegisterPolicy(cmd *cobra.Command, policy *string) {
	cmd.Flags().StringVar(policy, "policy", "", "mp: path policy: "+choices(&transport.PathPolicies))
	Complete(cmd, "policy", transport.PathPolicies.Names())
}

// RegisterCC adds the flag that names a congestion control: of multi-path queue
// pairs, and of standard ones too where a command has them.
func RegisterCC(cmd *cobra.Command, cc *string, standard bool) {
	usage, names := "mp: congestion control: "+choices(&transport.CongestionControls), transport.CongestionControls.Names()
	if standard {
		usage += "; rc: " + choices(&transport.RateControls)
		names = slices.Concat(names, transport.RateControls.Names())
	}
	cmd.Flags().StringVar(cc, "cc", "", usage)
	Complete(cmd, "cc", names)
}

// choices lists names for a help text.
func choices[T any](r *transport.Registry[T]) string {
	return strings.Join(r.Names(), ", ") + " (default " + r.Default().Name + ")"
}

// Complete offers the values of a flag to shells.
func Complete(cmd *cobra.Command, flag string, values []string) {
	// It fails only for a flag that does not exist, or that has this already.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}
