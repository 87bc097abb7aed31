package command

import (
	"context"
	"fmt"
	"io"
	"net"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/braid-rdma/braid/internal/child"
	"github.com/braid-rdma/braid/internal/perf"
)

// servePerftest serves programs of perftest at an address, which it announces.
func servePerftest(ctx context.Context, announce io.Writer, address string, server *perf.PerftestServer) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	if err := child.Announce(announce, listener.Addr().String()); err != nil {
		listener.Close()
		return err
	}
	server.Listener = listener
	if err := server.Serve(ctx); err != nil {
		return err
	}
	return ctx.Err()
}

// runSinglePerftestServer is the server of one test for one program of perftest,
// which has been given the same options.
func runSinglePerftestServer(cmd *cobra.Command, f *perfFlags) error {
	spec := f.spec.WithDefaults()
	spec.Trace = f.trace.Device("server")
	table, err := f.openTable(cmd.OutOrStdout())
	if err != nil {
		return err
	}
	defer table.close()
	var printed error
	server := &perf.PerftestServer{
		Open: f.device.open, Once: true, Spec: &spec,
		Finished: func(_ string, r *perf.Result, _ error) {
			if r == nil {
				return
			}
			r.Op, r.TxDepth = spec.Op, spec.TxDepth
			if printed = table.add(r); printed == nil {
				printed = table.finish()
			}
		},
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "waiting for ib_%s_%s\n", spec.Op, spec.Metric)
	if err := servePerftest(cmd.Context(), cmd.ErrOrStderr(), net.JoinHostPort("", strconv.Itoa(f.port)), server); err != nil {
		return err
	}
	return printed
}
