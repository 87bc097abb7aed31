package command

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/internal/perf"
	"github.com/braid-rdma/braid/sim/workload"
)

// orderFlags are the flags of `braid perf serve` that let clients ask for flows to others.
type orderFlags struct {
	to, from []string
	rate     float64 // Gb/s
	time     time.Duration
}

func (f *orderFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.to, "flows-to", nil, "networks, as 10.0.0.0/8, to whose servers clients may let this one send (default: none)")
	flags.StringSliceVar(&f.from, "flows-from", nil, "networks of the clients that may ask for it (default: those of --flows-to)")
	flags.Float64Var(&f.rate, "flows-rate", perf.DefaultOrderRate/1e9, "Gb/s that it sends then at most")
	flags.DurationVar(&f.time, "flows-time", perf.DefaultOrderTime, "how long it does so at most")
}

// orders are those that the server obeys; nil: none.
func (f *orderFlags) orders(cmd *cobra.Command) (*perf.Orders, error) {
	if len(f.to) == 0 {
		for _, name := range []string{"flows-from", "flows-rate", "flows-time"} {
			if cmd.Flags().Changed(name) {
				return nil, cli.Usage(fmt.Errorf("--%s belongs to --flows-to: name a network", name))
			}
		}
		return nil, nil
	}
	switch {
	case !(f.rate > 0): // so written that NaN is caught
		return nil, cli.Usage(errors.New("--flows-rate must be above zero"))
	case f.time <= 0:
		return nil, cli.Usage(errors.New("--flows-time must be above zero"))
	}
	orders := &perf.Orders{
		Rate: f.rate * 1e9, Time: f.time,
		Sizes: func(text string) (perf.Sizes, error) { return workload.ParseDistribution(text) },
	}
	var err error
	if orders.To, err = networks("--flows-to", f.to); err != nil {
		return nil, err
	}
	orders.From, err = networks("--flows-from", f.from)
	return orders, err
}

// networks reads networks; an address is one of its own.
func networks(flag string, texts []string) (found []netip.Prefix, err error) {
	for _, text := range texts {
		if addr, err := netip.ParseAddr(text); err == nil {
			text = fmt.Sprintf("%v/%d", addr, addr.BitLen())
		}
		prefix, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err != nil {
			return nil, cli.Usage(fmt.Errorf("%s %q: use a network such as 10.0.0.0/8", flag, text))
		}
		found = append(found, prefix.Masked())
	}
	return found, nil
}
