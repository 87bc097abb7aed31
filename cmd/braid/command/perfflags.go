package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/internal/perf"
)

const (
	defaultPort = 18515 // perftest's
	// The sizes of --all, as in perftest: powers of two from 2 to 2^23.
	smallestSizeBits = 1
	largestSizeBits  = 23
	// longestDuration is in seconds; what a test may last is checked with it.
	longestDuration = 24 * 3600
)

// perfFlags are the flags of a test.
type perfFlags struct {
	spec     perf.Spec
	device   opener
	duration float64
	lineRate float64 // Gb/s
	all      bool
	port     int
	json     bool
	loopback bool
	interval intervalFlag
	perftest perftestFlags
	compat   string
	trace    cli.Trace
}

// compatPerftest is the value of --compat; there is no other yet.
const compatPerftest = "perftest"

// registerCompat adds the flag that names whose programs the peers are.
func registerCompat(cmd *cobra.Command, compat *string) {
	cmd.Flags().StringVar(compat, "compat", "", "the peer is a program of another make: perftest (ib_write_bw and its siblings)")
	cli.Complete(cmd, "compat", []string{compatPerftest})
}

// checkCompat refuses makes that are not known.
func checkCompat(compat string) error {
	if compat != "" && compat != compatPerftest {
		return cli.Usage(fmt.Errorf("--compat %q: use %s", compat, compatPerftest))
	}
	return nil
}

// register adds the flags to a command; those of perftest have its letters.
func (f *perfFlags) register(cmd *cobra.Command) {
	flags, s := cmd.Flags(), &f.spec
	flags.SortFlags = false
	if s.Op != perf.Atomic {
		flags.VarP(&sizeFlag[int]{bytes: &s.Size}, "size", "s", "bytes of a message, such as 64K or 1MiB (default 65536 for bw, 2 for lat)")
		flags.BoolVarP(&f.all, "all", "a", false, "all sizes from 2 to 2^23")
	}
	flags.IntVarP(&s.Iterations, "iters", "n", 0, "operations of each queue pair (default 5000 for write bw, else 1000)")
	flags.Float64VarP(&f.duration, "duration", "D", 0, "seconds to measure, instead of a number of operations")
	flags.IntVarP(&s.TxDepth, "tx-depth", "t", 128, "operations outstanding")
	f.registerQueuePairs(cmd)
	if s.Metric == perf.Bandwidth {
		flags.IntVarP(&s.QPs, "qp-num", "q", 1, "queue pairs")
		flags.BoolVarP(&s.Bidirectional, "bidirectional", "b", false, "both sides send; the sum is reported")
		f.registerInterval(cmd)
		flags.BoolVar(&s.Verify, "verify", false, "compare the data of both sides at the end")
	}
	f.registerEnds(cmd)
	registerCompat(cmd, &f.compat)
	f.perftest.register(cmd, s)
}

// registerQueuePairs adds the flags of connections that perftest has, too.
func (f *perfFlags) registerQueuePairs(cmd *cobra.Command) {
	flags, s := cmd.Flags(), &f.spec
	flags.VarP(&sizeFlag[int]{bytes: &s.MTU}, "mtu", "m", "path MTU; mp: a multiple of 4 up to 16320, rc: 256 to 4096 (default: the largest that fits; mp: up to 8192)")
	flags.IntVarP(&s.QPTimeout, "qp-timeout", "u", 0, "how long an acknowledgement is waited for: 4 usec * 2^timeout (default 14, mp: 17)")
	flags.IntVarP(&f.port, "port", "p", defaultPort, "port of the server")
}

// registerInterval adds the flag of lines while a test runs.
func (f *perfFlags) registerInterval(cmd *cobra.Command) {
	cmd.Flags().VarP(&f.interval, "report-interval", "i", "print a line each time this is over, with the goodput of each path")
}

// registerEnds adds the flags of braid's own queue pairs, of the two ends and of the output.
func (f *perfFlags) registerEnds(cmd *cobra.Command) {
	flags, s := cmd.Flags(), &f.spec
	flags.StringVar(&s.QP, "qp", "mp", "type of queue pair: mp (multi-path) or rc (standard)")
	flags.IntVar(&s.Paths, "paths", 0, "mp: paths of a connection (default: all that both ends offer, 128)")
	cli.RegisterPolicy(cmd, &s.Policy)
	cli.RegisterCC(cmd, &s.CC, true)
	flags.Float64Var(&f.lineRate, "line-rate", 0, "rc: Gb/s at which a rate control starts, and never exceeds (default 10)")
	flags.BoolVar(&s.Paper, "paper", false, "mp: the parameters and mechanisms of the MP-RDMA paper alone")
	flags.IntVar(&f.device.loops, "loops", 0, "loops of a device, which run side by side, each with queue pairs of its own (default: half as many as processors, 1 to 4)")
	flags.StringVar(&f.device.local, "local", "", "local IP address (default: the one that leads to the peer)")
	flags.BoolVar(&f.loopback, "loopback", false, "start both ends, as two processes on this machine")
	f.trace.Register(cmd, "what this end's queue pairs do")
	flags.BoolVar(&f.json, "json", false, "print one JSON object; with --report-interval an object on a line for each event")
	cli.Complete(cmd, "qp", []string{"mp", "rc"})
}

// finish turns the flags into a test and refuses what makes no sense. A value
// of zero that the user gave is not the default that it would stand for.
func (f *perfFlags) finish(cmd *cobra.Command, args []string) error {
	for _, name := range []string{"size", "iters", "duration", "tx-depth", "mtu", "qp-timeout", "qp-num", "paths", "line-rate", "rx-depth", "post_list", "cq-mod", "depth"} {
		if flag := cmd.Flags().Lookup(name); flag != nil && flag.Changed && flag.Value.String() == "0" {
			return cli.Usage(fmt.Errorf("--%s must be above zero", name))
		}
	}
	switch changed := cmd.Flags().Changed; {
	case f.loopback && len(args) > 0:
		return cli.Usage(fmt.Errorf("--loopback starts its own server: leave out HOST %q", args[0]))
	case f.loopback && changed("local"):
		return cli.Usage(fmt.Errorf("--loopback chooses its own addresses: leave out --local"))
	case f.loopback && changed("port"):
		return cli.Usage(fmt.Errorf("--loopback chooses its own port: leave out --port"))
	case f.all && changed("size"):
		return cli.Usage(fmt.Errorf("--all and --size exclude each other"))
	case changed("duration") && changed("iters"):
		return cli.Usage(fmt.Errorf("--duration and --iters exclude each other"))
	case f.duration < 0 || f.duration > longestDuration:
		return cli.Usage(fmt.Errorf("--duration %v: use up to %d seconds", f.duration, longestDuration))
	}
	if err := checkPort(f.port); err != nil {
		return err
	}
	f.spec.Duration, f.spec.LineRate = seconds(f.duration), int64(f.lineRate*1e9)
	if err := f.finishPerftest(cmd); err != nil {
		return err
	}
	if err := f.finishCompat(cmd); err != nil {
		return err
	}
	if f.spec.QP == "rc" && cmd.Flags().Changed("paths") {
		return cli.Usage(fmt.Errorf("--paths belongs to --qp mp: a standard queue pair has one path"))
	}
	checked := f.spec.WithDefaults()
	if err := checked.Check(); err != nil {
		return err
	}
	if checked.QP == "mp" {
		f.device.paths, f.device.mtu = checked.Paths, checked.MTU
	}
	return f.device.check()
}

// finishCompat settles what a peer of another make asks for: standard queue
// pairs, and one test at a time.
func (f *perfFlags) finishCompat(cmd *cobra.Command) error {
	if f.compat == "" {
		return nil
	}
	if err := checkCompat(f.compat); err != nil {
		return err
	}
	switch {
	case f.loopback:
		return cli.Usage(fmt.Errorf("--loopback starts braid at both ends: leave out --compat"))
	case f.all:
		return cli.Usage(fmt.Errorf("--all is not possible with --compat: use --size"))
	}
	if !cmd.Flags().Changed("qp") && f.perftest.connection == "" {
		f.spec.QP = "rc"
	}
	f.device.anyID = true
	checked := f.spec.WithDefaults()
	return checked.CheckPerftest()
}

// checkPort refuses what is no port.
func checkPort(port int) error {
	if port < 0 || port > 65535 {
		return cli.Usage(fmt.Errorf("--port %d: use 1 to 65535", port))
	}
	return nil
}

// sizes are the message sizes to measure, in order. Zero is the default.
func (f *perfFlags) sizes() []int {
	if !f.all {
		return []int{f.spec.Size}
	}
	var sizes []int
	for bits := smallestSizeBits; bits <= largestSizeBits; bits++ {
		sizes = append(sizes, 1<<bits)
	}
	return sizes
}
