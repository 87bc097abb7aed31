package command

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/internal/perf"
	"github.com/braid-rdma/braid/sim/workload"
)

// flowFlags are the flags of `braid perf flows`.
type flowFlags struct {
	perfFlags
	model   string
	cdf     string
	rate    float64 // Gb/s
	load    float64
	link    float64 // Gb/s
	on, off time.Duration
	drain   time.Duration
	incast  bool
	mesh    bool
	seed    uint64
}

// elephantsMice is the model that X-RDMA §VI-B names: nine of ten flows are a page, and nearly all
// bytes are in the tenth.
const (
	elephantsMice       = "elephants-mice"
	elephantsMiceSizes  = "4Ki:90 16Mi:90 16Mi:100"
	defaultFlowModel    = "web-search"
	defaultFlowDuration = 10 // seconds
)

// newPerfFlows is `braid perf flows`.
func newPerfFlows() *cobra.Command {
	f := &flowFlags{perfFlags: perfFlags{spec: perf.Spec{Op: perf.Write, Metric: perf.Bandwidth}}}
	cmd := &cobra.Command{
		Use:   "flows HOST...",
		Short: "Measure the completion times of flows of many sizes",
		Long: `flows sends flows whose sizes follow a distribution, to one server or several
('braid perf serve'), and tells by size how long they took. A flow has a queue pair
for itself; --depth of them go to each server at the same time.

With --rate, or --load of a --link, flows begin at random at that rate, whether or
not the network keeps up (open loop), and a flow that finds all queue pairs taken
waits; the wait counts. Without, a flow begins when another has ended (closed loop).

With --incast the servers send: each flow is read from one of them, so that all
of them send to this machine at the same time.

With --all-to-all each server sends to each other one, and this machine only says
so and gathers the results. A server obeys if it was started with --flows-to, and
within the limits that it was started with; it stops when this command does.
--rate is then that of each server.`,
		Example: `  braid perf flows HOST --model web-search --rate 5
  braid perf flows A B C --incast --model 64Ki:100 --depth 1
  braid perf flows A B C --all-to-all --depth 4 -i 1
  braid perf flows HOST --model elephants-mice --load 0.5 --link 10 -i 1
  braid perf flows --loopback --cdf sizes.txt --on 100ms --off 400ms --json`,
		RunE: func(cmd *cobra.Command, hosts []string) (err error) {
			spec, err := f.finishFlows(cmd, hosts)
			if err != nil {
				return err
			}
			if err := f.trace.Open(cmd, false); err != nil {
				return err
			}
			defer f.trace.Close(cmd, &err)
			spec.Connection.Trace = f.trace.Device("client")
			if f.loopback {
				return withLoopback(cmd, &f.perfFlags, func(address string) error { return f.run(cmd, spec, []string{address}) })
			}
			addresses := make([]string, len(hosts))
			for i, host := range hosts {
				addresses[i] = net.JoinHostPort(host, strconv.Itoa(f.port))
			}
			return f.run(cmd, spec, addresses)
		},
	}
	f.registerFlows(cmd)
	return cmd
}

// flowModels are the models that have names.
func flowModels() []string {
	var names []string
	for _, name := range workload.DistributionNames() {
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	return append(names, elephantsMice)
}

func (f *flowFlags) registerFlows(cmd *cobra.Command) {
	flags, s := cmd.Flags(), &f.spec
	flags.SortFlags = false
	flags.StringVar(&f.model, "model", defaultFlowModel, "sizes of flows: "+strings.Join(flowModels(), ", ")+", or points of a distribution as '4Ki:90 16Mi:100'")
	flags.StringVar(&f.cdf, "cdf", "", "file with such points, bytes:percent, instead of --model")
	flags.Float64Var(&f.rate, "rate", 0, "Gb/s of flows that begin, to all hosts together; with --all-to-all, at each host (default: closed loop)")
	flags.Float64Var(&f.load, "load", 0, "the same as a part of --link: 0.5 is half of it")
	flags.Float64Var(&f.link, "link", 0, "Gb/s of the link that --load is a part of")
	flags.IntVar(&s.QPs, "depth", 16, "flows to one host at the same time, each on a queue pair")
	flags.DurationVar(&f.on, "on", 0, "with --off: how long flows begin before there is a pause")
	flags.DurationVar(&f.off, "off", 0, "how long a pause lasts")
	flags.BoolVar(&f.incast, "incast", false, "the hosts send to this one")
	flags.BoolVar(&f.mesh, "all-to-all", false, "each host sends to each other one, and this machine to none")
	flags.Uint64Var(&f.seed, "seed", 1, "of the sizes and times, which are the same for the same seed")
	flags.Float64VarP(&f.duration, "duration", "D", defaultFlowDuration, "seconds in which flows begin")
	flags.DurationVar(&f.drain, "drain", 0, "how long those that have begun may last then (default as long as -D)")
	flags.VarP(&sizeFlag[int]{bytes: &s.Size}, "size", "s", "bytes of the messages into which flows are cut (default 64KiB)")
	flags.IntVarP(&s.TxDepth, "tx-depth", "t", 128, "messages of a flow outstanding")
	f.registerQueuePairs(cmd)
	f.registerInterval(cmd)
	f.registerEnds(cmd)
	cli.Complete(cmd, "model", flowModels())
	_ = cmd.MarkFlagFilename("cdf")
}

// finishFlows turns the flags into a model and refuses what makes no sense.
func (f *flowFlags) finishFlows(cmd *cobra.Command, hosts []string) (perf.FlowSpec, error) {
	spec := perf.FlowSpec{On: f.on, Off: f.off, Drain: f.drain, Seed: f.seed}
	if len(hosts) == 0 && !f.loopback {
		return spec, cli.Usage(errors.New("name a HOST where 'braid perf serve' runs, or several, or use --loopback"))
	}
	if err := f.finish(cmd, hosts); err != nil {
		return spec, err
	}
	if err := f.checkMesh(cmd, hosts); err != nil {
		return spec, err
	}
	if f.incast {
		f.spec.Op = perf.Read
	}
	spec.Connection = f.spec
	var err error
	if spec.Rate, err = f.offered(cmd); err != nil {
		return spec, err
	}
	if spec.Sizes, err = f.sizes(cmd); err != nil {
		return spec, err
	}
	checked := spec.WithDefaults()
	if f.mesh {
		return checked, checked.Check(len(hosts) - 1)
	}
	return checked, checked.Check(max(len(hosts), 1))
}

// checkMesh refuses what has no meaning where this machine sends nothing.
func (f *flowFlags) checkMesh(cmd *cobra.Command, hosts []string) error {
	switch {
	case !f.mesh:
	case f.incast:
		return cli.Usage(errors.New("--all-to-all and --incast exclude each other"))
	case f.loopback:
		return cli.Usage(errors.New("--loopback starts one server: start several ('braid perf serve --bind ADDR --flows-to 127.0.0.0/8') for --all-to-all"))
	case len(hosts) < 2 || len(hosts) > perf.MaxMesh:
		return cli.Usage(fmt.Errorf("--all-to-all: name 2 to %d hosts", perf.MaxMesh))
	case cmd.Flags().Changed("trace"):
		return cli.Usage(errors.New("--trace: with --all-to-all this machine has no queue pairs to trace"))
	}
	return nil
}

// offered is the rate of an open loop, in bit/s; 0: the loop is closed.
func (f *flowFlags) offered(cmd *cobra.Command) (float64, error) {
	changed := cmd.Flags().Changed
	switch {
	case changed("rate") && changed("load"):
		return 0, cli.Usage(errors.New("--rate and --load exclude each other"))
	case changed("load") != changed("link"):
		return 0, cli.Usage(errors.New("--load and --link belong together: --load 0.5 --link 10 is 5 Gb/s"))
	case changed("rate") && !(f.rate > 0), changed("load") && !(f.load > 0 && f.link > 0):
		return 0, cli.Usage(errors.New("--rate, --load and --link must be above zero"))
	case changed("load"):
		return f.load * f.link * 1e9, nil
	}
	return f.rate * 1e9, nil
}

// sizes is the distribution of the sizes of flows.
func (f *flowFlags) sizes(cmd *cobra.Command) (perf.Sizes, error) {
	flag, text := "--model", f.model
	switch {
	case f.cdf != "" && cmd.Flags().Changed("model"):
		return nil, cli.Usage(errors.New("--cdf and --model exclude each other"))
	case f.cdf != "":
		points, err := os.ReadFile(f.cdf)
		if err != nil {
			return nil, err
		}
		flag, text = "--cdf "+f.cdf, string(points)
	case f.model == elephantsMice:
		text = elephantsMiceSizes
	case !strings.Contains(f.model, ":"):
		text = strings.ReplaceAll(f.model, "-", " ")
	}
	d, err := workload.ParseDistribution(text)
	if err != nil {
		return nil, cli.Usage(fmt.Errorf("%s: %w; or %s", flag, err, elephantsMice))
	}
	if f.cdf == "" && f.model == elephantsMice {
		return workload.NewDistribution("elephants and mice", d.Points())
	}
	return d, nil
}

// run runs the model and prints the result.
func (f *flowFlags) run(cmd *cobra.Command, spec perf.FlowSpec, addresses []string) error {
	display := newPerfDisplay(cmd, f.interval.Duration, f.json)
	var result *perf.FlowResult
	var failed error
	if f.mesh {
		mesh := &perf.FlowMesh{Addresses: addresses, Open: f.device.open, Progress: display.show, Interval: f.interval.Duration}
		result, failed = mesh.Run(cmd.Context(), spec)
	} else {
		client := &perf.FlowClient{Addresses: addresses, Open: f.device.open, Progress: display.show, Interval: f.interval.Duration}
		result, failed = client.Run(cmd.Context(), spec)
	}
	display.clear()
	if result == nil {
		return failed
	}
	out := cmd.OutOrStdout()
	var err error
	switch {
	case f.json && f.interval.Duration > 0:
		err = cli.PrintEvent(out, flowEvent{"result", *result})
	case f.json:
		err = cli.PrintJSON(out, result)
	default:
		err = printFlows(out, result)
	}
	return errors.Join(err, failed)
}
