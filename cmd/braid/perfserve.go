package main

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"

	"github.com/spf13/cobra"

	"github.com/braid-rdma/braid/internal/child"
	"github.com/braid-rdma/braid/internal/perf"
	"github.com/braid-rdma/braid/oob"
)

// newPerfServe is `braid perf serve`.
func newPerfServe() *cobra.Command {
	var (
		port       int
		bind       string
		once       bool
		withParent bool
		device     opener
		compat     string
	)
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve measurements",
		Long: `serve waits for tests, at the same time or one after the other, until it is
interrupted. Clients reach it over TCP; the data travels over UDP port 4791 of
the address that the client used.

With --compat perftest the clients are programs of perftest: ib_write_bw,
ib_read_bw, ib_send_bw, ib_read_lat, ib_atomic_bw and ib_atomic_lat, with any
options that need nothing of the server. ib_send_lat and ib_write_lat need a
server of their own: 'braid perf send lat --compat perftest' with the client's
options, and likewise for write.`,
		Example: "  braid perf serve\n  braid perf serve --once --port 18600\n  braid perf serve --compat perftest",
		Args:    arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := device.check(); err != nil {
				return err
			}
			if err := checkCompat(compat); err != nil {
				return err
			}
			ctx := cmd.Context()
			if withParent {
				var stop func()
				ctx, stop = child.WithParent(ctx, cmd.InOrStdin())
				defer stop()
			}
			if compat != "" {
				device.anyID = true
				return servePerftest(ctx, cmd.OutOrStdout(), net.JoinHostPort(bind, strconv.Itoa(port)), &perf.PerftestServer{
					Open: device.open, Once: once, Finished: clientLog(cmd, once),
				})
			}
			listener, err := oob.Listen(net.JoinHostPort(bind, strconv.Itoa(port)))
			if err != nil {
				return err
			}
			if err := child.Announce(cmd.OutOrStdout(), listener.Addr().String()); err != nil {
				return err
			}
			server := &perf.Server{Listener: listener, Open: device.open, Once: once, Finished: clientLog(cmd, once)}
			return serveUntilInterrupted(ctx, server)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.IntVarP(&port, "port", "p", defaultPort, "TCP port to listen on; 0 takes a free one")
	flags.StringVar(&bind, "bind", "", "address to listen on (default: all)")
	flags.BoolVar(&once, "once", false, "end after the first client")
	flags.StringVar(&device.local, "local", "", "local IP address for the data (default: the one that the client used)")
	flags.IntVar(&device.paths, "paths", 0, "paths offered to clients (default 16)")
	registerCompat(cmd, &compat)
	flags.BoolVar(&withParent, "with-parent", false, "end when standard input does")
	// It exists for the second process of --loopback.
	_ = flags.MarkHidden("with-parent")
	return cmd
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
