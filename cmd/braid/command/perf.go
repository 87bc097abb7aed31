package command

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/internal/child"
	"github.com/braid-rdma/braid/internal/perf"
)

// newPerf is `braid perf`.
func newPerf() *cobra.Command {
	cmd := cli.Group(&cobra.Command{
		Use:   "perf",
		Short: "Measure bandwidth and latency, with the flags and columns of perftest",
		Long: `perf measures RDMA operations between two processes. Start a server on one
machine and a test on the other; the test decides everything, and the server
serves any number of tests. The flags and columns are those of perftest.`,
		Example: `  braid perf serve                      on host A
  braid perf write bw A                 on host B
  braid perf send lat --loopback        both ends on this machine
  braid perf flows A --model web-search --rate 5
  braid perf write bw --compat perftest A   against ib_write_bw on host A`,
	})
	for _, op := range perf.Ops {
		cmd.AddCommand(newPerfOp(op))
	}
	cmd.AddCommand(newPerfFlows(), newPerfServe())
	return cmd
}

// opTitles are the operations as headings name them.
var opTitles = map[perf.Op]string{
	perf.Write: "RDMA WRITE", perf.Read: "RDMA READ", perf.Send: "SEND", perf.Atomic: "atomic FETCH_ADD",
}

// metricTitles are the metrics as headings name them.
var metricTitles = map[perf.Metric]string{perf.Bandwidth: "bandwidth", perf.Latency: "latency"}

// newPerfOp is `braid perf OP`, with a subcommand for each metric.
func newPerfOp(op perf.Op) *cobra.Command {
	cmd := cli.Group(&cobra.Command{
		Use:     string(op),
		Short:   "Measure " + opTitles[op],
		Example: fmt.Sprintf("  braid perf %s bw --loopback\n  braid perf %s lat HOST", op, op),
	})
	for _, metric := range perf.Metrics {
		cmd.AddCommand(newPerfTest(op, metric))
	}
	return cmd
}

// meaning tells what a test measures.
func meaning(op perf.Op, metric perf.Metric) string {
	switch {
	case metric == perf.Bandwidth:
		return "Keeps --tx-depth operations outstanding and counts what completes."
	case op == perf.Send:
		return "Sends a message to and fro; the latency is half of the round trip."
	case op == perf.Write:
		return `Writes a message to and fro, with immediate data, so that each side learns
when the message is whole; the latency is half of the round trip.`
	}
	return "Runs one operation after the other; the latency is that of a whole operation."
}

// newPerfTest is `braid perf OP METRIC`.
func newPerfTest(op perf.Op, metric perf.Metric) *cobra.Command {
	f := &perfFlags{spec: perf.Spec{Op: op, Metric: metric}}
	path := fmt.Sprintf("braid perf %s %s", op, metric)
	cmd := &cobra.Command{
		Use:   string(metric) + " [HOST]",
		Short: fmt.Sprintf("Measure the %s of %s", metricTitles[metric], opTitles[op]),
		Long: meaning(op, metric) + `

With HOST it measures against a server there ('braid perf serve', or this same
command without HOST); with --loopback between two processes that it starts
itself. With neither it is the server of this test, for one client.`,
		Example: fmt.Sprintf("  %s --loopback\n  %s HOST -D 10 --paths 8\n  %s --loopback --json", path, path, path),
		Args:    cli.Arguments(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if err := f.finish(cmd, args); err != nil {
				return err
			}
			f.notices(cmd)
			if err := f.trace.Open(cmd, false); err != nil {
				return err
			}
			defer f.trace.Close(cmd, &err)
			switch {
			case f.loopback:
				return withLoopback(cmd, f, func(address string) error { return runClient(cmd, f, address) })
			case len(args) == 1:
				return runClient(cmd, f, net.JoinHostPort(args[0], strconv.Itoa(f.port)))
			}
			return runSingleServer(cmd, f)
		},
	}
	f.register(cmd)
	return cmd
}

// runClient runs the tests against a server and prints the results.
func runClient(cmd *cobra.Command, f *perfFlags, address string) error {
	display := newPerfDisplay(cmd, f.interval.Duration, f.json)
	client := &perf.Client{Address: address, Open: f.device.open, Progress: display.show, Interval: f.interval.Duration}
	defer client.Close()
	table, err := f.openTable(cmd.OutOrStdout())
	if err != nil {
		return err
	}
	defer table.close()
	table.events = f.interval.Duration > 0
	var failed error
	for _, size := range f.sizes() {
		spec := f.spec
		spec.Size, spec.Trace = size, f.trace.Device("client")
		measure := client.Run
		if f.compat != "" {
			measure = client.RunPerftest
		}
		result, err := f.measureBusy(func() (*perf.Result, error) { return measure(cmd.Context(), spec) })
		display.clear()
		if result == nil {
			return err
		}
		if err := table.add(result); err != nil {
			return err
		}
		if failed = err; failed != nil {
			break
		}
	}
	if err := table.finish(); err != nil {
		return err
	}
	return failed
}

// withLoopback starts the server as a second process and runs tests against it.
// The process is gone when it returns.
func withLoopback(cmd *cobra.Command, f *perfFlags, run func(address string) error) error {
	args := []string{
		"perf", "serve", "--bind", bindLoopback, "--port", "0", "--with-parent",
		"--max-memory", strconv.Itoa(perf.MemoryForOneClient >> 20),
	}
	if f.device.paths > 0 {
		args = append(args, "--paths", strconv.Itoa(f.device.paths))
	}
	if f.device.mtu > 0 {
		args = append(args, "--mtu", strconv.Itoa(f.device.mtu))
	}
	server, err := child.Start(cmd.Context(), args...)
	if err != nil {
		return err
	}
	defer server.Close()
	return run(server.Address())
}

// runSingleServer serves one client with the test of this command.
func runSingleServer(cmd *cobra.Command, f *perfFlags) error {
	if f.compat != "" {
		return runSinglePerftestServer(cmd, f)
	}
	listener, err := listenForTests(cmd, f.device.local, f.port, &f.device)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "waiting for '%s HOST' on port %d\n", cmd.CommandPath(), listener.Addrs()[0].Port())
	table, err := f.openTable(cmd.OutOrStdout())
	if err != nil {
		listener.Close()
		return err
	}
	defer table.close()
	var printed error
	server := &perf.Server{
		Listener: listener, Once: true, Op: f.spec.Op, Metric: f.spec.Metric, Trace: f.trace.Device("server"),
		Limits: perf.Limits{Memory: perf.MemoryForOneClient},
		Finished: func(_ string, r *perf.Result, _ error) {
			if r == nil {
				return
			}
			if printed = table.add(r); printed == nil {
				printed = table.finish()
			}
		},
	}
	if err := serveUntilInterrupted(cmd.Context(), server); err != nil {
		return err
	}
	return printed
}

// serveUntilInterrupted runs a server. It ends well only when its work is done.
func serveUntilInterrupted(ctx context.Context, s *perf.Server) error {
	if err := s.Serve(ctx); err != nil {
		return err
	}
	return ctx.Err()
}

// seconds is a flag's number as a duration.
func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
