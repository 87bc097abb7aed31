package command

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/internal/child"
	"github.com/braid-rdma/braid/internal/perf"
)

// serveFlags are the flags of `braid perf serve`.
type serveFlags struct {
	port       int
	bind       string
	once       bool
	withParent bool
	device     opener
	compat     string
	tos        int
	sessions   int
	memory     int64
	idle       time.Duration
	orders     orderFlags
}

// newPerfServe is `braid perf serve`.
func newPerfServe() *cobra.Command {
	f := &serveFlags{}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve measurements",
		Long: `serve waits for tests, at the same time or one after the other, until it is
interrupted. Clients reach it through the RDMA connection manager; everything
travels over UDP port 4791, of each address of this machine. Programs of one
user share it, and each needs a --port of its own.

What strangers can take of this machine is bounded: --max-clients of them at the
same time, --max-memory for all their tests together, and a quarter of both for
one address; more are told that the server is busy. A client counts once it is
connected: of those that are not, the oldest is given up where there are too
many. A client that takes longer than --idle-timeout to the next step of its
test, or of whose test no packet arrives for that long, is ended.

With --flows-to NETWORK clients may ask this server to send flows to other servers in
that network ('braid perf flows A B C --all-to-all'); otherwise it sends to nobody
but who asks. It obeys clients of the same networks, or of --flows-from, one at a
time, for --flows-time at most and at --flows-rate, and stops when they leave.

With --compat perftest the clients are programs of perftest: ib_write_bw,
ib_read_bw, ib_send_bw, ib_read_lat, ib_atomic_bw and ib_atomic_lat, with any
options that need nothing of the server. They connect over TCP. ib_send_lat and
ib_write_lat need a server of their own: 'braid perf send lat --compat perftest'
with the client's options, and likewise for write.`,
		Example: "  braid perf serve\n  braid perf serve --once --port 18600\n  braid perf serve --bind loopback\n  braid perf serve --flows-to 10.0.0.0/8 --flows-rate 40\n  braid perf serve --compat perftest",
		Args:    cli.Arguments(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.IntVarP(&f.port, "port", "p", defaultPort, "port to listen on; 0 takes a free one")
	flags.StringVar(&f.bind, "bind", "", "address to listen on, or 'loopback' for a free one (default: all)")
	flags.BoolVar(&f.once, "once", false, "end after the first client")
	flags.IntVar(&f.device.loops, "loops", 0, "loops of a device, which run side by side, each with queue pairs of its own (default: half as many as processors, 1 to 4)")
	flags.StringVar(&f.device.local, "local", "", "with --compat: local IP address for the data (default: the one that the client used)")
	flags.IntVar(&f.device.paths, "paths", 0, "paths offered to clients (default 128)")
	flags.IntVar(&f.sessions, "max-clients", perf.DefaultSessions, "clients served at the same time")
	f.memory = perf.DefaultMemory
	flags.Var(&sizeFlag[int64]{bytes: &f.memory, bare: 1 << 20}, "max-memory", "memory for the tests of all clients, such as 512M; MiB without a unit")
	flags.DurationVar(&f.idle, "idle-timeout", perf.DefaultIdle, "how long a client may do nothing")
	flags.VarP(&sizeFlag[int]{bytes: &f.device.mtu}, "mtu", "m", "largest path MTU offered to clients (default: what fits the interface, up to 8192)")
	flags.IntVarP(&f.tos, "tos", "T", 0, "type of service of this end's packets; its two bits of ECN are braid's")
	f.orders.register(cmd)
	registerCompat(cmd, &f.compat)
	flags.BoolVar(&f.withParent, "with-parent", false, "end when standard input does")
	// It exists for the second process of --loopback.
	_ = flags.MarkHidden("with-parent")
	return cmd
}

func (f *serveFlags) run(cmd *cobra.Command) error {
	if err := f.device.check(); err != nil {
		return err
	}
	if err := checkCompat(f.compat); err != nil {
		return err
	}
	if err := checkPort(f.port); err != nil {
		return err
	}
	if err := f.device.setTOS(f.tos); err != nil {
		return err
	}
	if err := f.checkLimits(); err != nil {
		return err
	}
	orders, err := f.orders.orders(cmd)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	if f.withParent {
		var stop func()
		// A Ctrl-C reaches both processes. The parent still has to learn what this one counted.
		ctx, stop = child.WithParent(context.WithoutCancel(ctx), cmd.InOrStdin())
		defer stop()
	}
	if f.compat != "" {
		if orders != nil {
			return cli.Usage(errors.New("--flows-to is for braid's own clients: leave out --compat"))
		}
		f.device.anyID = true
		return servePerftest(ctx, cmd.OutOrStdout(), net.JoinHostPort(f.bind, strconv.Itoa(f.port)), &perf.PerftestServer{
			Open: f.device.open, Once: f.once, Finished: clientLog(cmd, f.once), Limits: f.limits(),
		})
	}
	if f.device.local != "" {
		return cli.Usage(errors.New("--local belongs to --compat: use --bind, for clients and data have one address"))
	}
	listener, err := listenForTests(cmd, f.bind, f.port, &f.device)
	if err != nil {
		return err
	}
	for _, at := range listener.Addrs() {
		if err := child.Announce(cmd.OutOrStdout(), at.String()); err != nil {
			listener.Close()
			return err
		}
	}
	return serveUntilInterrupted(ctx, &perf.Server{
		Listener: listener, Once: f.once, Finished: clientLog(cmd, f.once), Limits: f.limits(), Orders: orders,
	})
}

// limits are those of the flags.
func (f *serveFlags) limits() perf.Limits {
	return perf.Limits{Sessions: f.sessions, Memory: f.memory, Idle: f.idle}
}

// checkLimits refuses what would serve nobody.
func (f *serveFlags) checkLimits() error {
	switch {
	case f.sessions < 1:
		return cli.Usage(fmt.Errorf("--max-clients %d: must be above zero", f.sessions))
	case f.memory < 1:
		return cli.Usage(fmt.Errorf("--max-memory %d: must be above zero", f.memory))
	case f.idle <= 0:
		return cli.Usage(fmt.Errorf("--idle-timeout %v: must be above zero", f.idle))
	}
	return nil
}

// bindLoopback is the value of --bind for a free loopback address.
const bindLoopback = "loopback"

// listenForTests listens at an address, or at all of this machine if there is
// none given. Where it could not listen is said, but stops nobody.
func listenForTests(cmd *cobra.Command, bind string, port int, device *opener) (*perf.Listener, error) {
	var local netip.Addr
	switch bind {
	case "":
		listener, err := perf.ListenAll(uint16(port), device.open)
		if err != nil {
			return nil, err
		}
		for _, passed := range listener.PassedOver() {
			fmt.Fprintln(cmd.ErrOrStderr(), passed)
		}
		return listener, nil
	case bindLoopback:
	default:
		var err error
		if local, err = netip.ParseAddr(bind); err != nil {
			return nil, cli.Usage(fmt.Errorf("--bind %q: use an IP address of this machine, or %s", bind, bindLoopback))
		}
	}
	return perf.Listen(local, uint16(port), device.open)
}

// clientLog prints a line for each client that was served. The only client's
// error is the command's own.
func clientLog(cmd *cobra.Command, only bool) func(string, *perf.Result, error) {
	var mu sync.Mutex
	return func(client string, r *perf.Result, err error) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err != nil && (only || errors.Is(err, cmd.Context().Err())):
			// It is told otherwise, or the server ends and it is no news.
		case err != nil:
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: %v\n", client, err)
		case r == nil:
			fmt.Fprintf(cmd.OutOrStdout(), "%s: served\n", client)
		case r.Metric == perf.Latency:
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %s lat, %d bytes: %.2f usec typical\n", client, r.Op, r.Bytes, r.LatencyMicros.P50)
		default:
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %s bw, %d bytes: %.2f MiB/sec\n", client, r.Op, r.Bytes, r.AverageMiBps)
		}
	}
}
