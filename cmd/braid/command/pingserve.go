package command

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/spf13/cobra"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/internal/child"
	"github.com/braid-rdma/braid/internal/ping"
	"github.com/braid-rdma/braid/udp"
)

// pingServeFlags are those of `braid ping serve`.
type pingServeFlags struct {
	port, connections, rate int
	idle                    time.Duration
	bind                    string
	withParent              bool
}

// newPingServe is `braid ping serve`.
func newPingServe() *cobra.Command {
	f := &pingServeFlags{}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Reply to the probes of 'braid ping'",
		Long: `serve replies to probes until it is interrupted, and then tells what it has
seen. Everything travels over UDP port 4791, of each address of this machine;
programs of one user share it, and each needs a --port of its own.

It keeps nothing for who sends datagrams, replies with no more bytes than it was
sent, and to each source at --rate per second. WRITEs need connections, of which
there are --max-connections, a quarter of them for one address; one that carries
nothing for --idle-timeout is ended.`,
		Example: "  braid ping serve\n  braid ping serve --bind 10.0.0.7\n  braid ping serve --bind loopback --port 0",
		Args:    cli.Arguments(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.IntVarP(&f.port, "port", "p", cli.DefaultPingPort, "port that probers connect to; 0 takes a free one")
	flags.StringVar(&f.bind, "bind", "", "address to reply at, or 'loopback' for a free one (default: all)")
	flags.IntVar(&f.rate, "rate", ping.DefaultRate, "datagrams per second of one source that have replies")
	flags.IntVar(&f.connections, "max-connections", ping.DefaultConnections, "connections for WRITEs")
	flags.DurationVar(&f.idle, "idle-timeout", ping.DefaultIdle, "how long a connection may carry nothing")
	flags.BoolVar(&f.withParent, "with-parent", false, "end when standard input does")
	// It exists for the second process of --loopback.
	_ = flags.MarkHidden("with-parent")
	cli.Complete(cmd, "bind", []string{bindLoopback})
	return cmd
}

// config is how the device is opened, if the flags make sense.
func (f *pingServeFlags) config() (c udp.Config, err error) {
	c.Spin = cli.NoSpin
	switch {
	case f.rate < 1:
		return c, cli.Usage(fmt.Errorf("--rate %d: must be above zero", f.rate))
	case f.connections < 1:
		return c, cli.Usage(fmt.Errorf("--max-connections %d: must be above zero", f.connections))
	case f.idle <= 0:
		return c, cli.Usage(fmt.Errorf("--idle-timeout %v: must be above zero", f.idle))
	case f.bind == bindLoopback:
		c.Loopback = true
	case f.bind != "":
		if c.Addr, err = netip.ParseAddr(f.bind); err != nil {
			return c, cli.Usage(fmt.Errorf("--bind %q: use an IP address of this machine, or %s", f.bind, bindLoopback))
		}
	}
	return c, checkPort(f.port)
}

func (f *pingServeFlags) run(cmd *cobra.Command) error {
	config, err := f.config()
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	if f.withParent {
		var stop func()
		ctx, stop = child.WithParent(ctx, cmd.InOrStdin())
		defer stop()
	}
	device, err := udp.Open(config)
	if err != nil {
		return err
	}
	defer device.Close()
	manager, err := cm.New(device, cm.Config{})
	if err != nil {
		return err
	}
	defer manager.Close()
	responder, err := ping.NewResponder(manager, ping.ResponderOptions{
		Port: uint16(f.port), Connections: f.connections, Idle: f.idle, Rate: f.rate, SourcePort: sourcePortsOf(device),
	})
	if err != nil {
		return err
	}
	defer responder.Close()
	for _, at := range device.Query().Addrs {
		if err := child.Announce(cmd.OutOrStdout(), netip.AddrPortFrom(at, responder.Addr().Port()).String()); err != nil {
			return err
		}
	}
	err = responder.Serve(ctx)
	c := responder.Counters()
	_, printed := fmt.Fprintf(cmd.OutOrStdout(), "%d probes had replies, %d connections were made; refused: %d datagrams that are no probes, %d of too many, %d connections of too many; %d replies could not be sent\n",
		c.Replies, c.Granted, c.Malformed, c.Limited, c.Busy, c.Dropped)
	return errors.Join(err, printed)
}
