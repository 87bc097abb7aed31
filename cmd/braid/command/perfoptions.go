package command

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/internal/perf"
)

// perftestFlags are options of perftest that change no number of a test, or that have no
// meaning here: scripts that were made for perftest pass them.
type perftestFlags struct {
	connection string
	postList   int
	cqModerate int
	tos        int
	gbits      bool
	cpuUtil    bool
	infinitely bool
	jsonFile   string
	outJSON    bool
}

// defaultJSONFile is where perftest writes its report when it is given no name.
const defaultJSONFile = "perftest_out.json"

// ignoredFlags are options of perftest that say nothing to braid, with what there is
// instead. The number of the port has -i in perftest; see intervalFlag.
var ignoredFlags = []struct{ name, letter, kind, instead string }{
	{"ib-dev", "d", "string", "there are no RDMA devices to choose from, and --local chooses an address"},
	{"gid-index", "x", "int", "--local chooses an address"},
	{"rdma_cm", "R", "bool", "braid connects through its own connection manager"},
	{"sl", "S", "int", "RoCE has no service levels, and --tos sets the traffic class"},
}

// register adds the options of perftest that a test has not got yet.
func (p *perftestFlags) register(cmd *cobra.Command, s *perf.Spec) {
	flags := cmd.Flags()
	flags.StringVarP(&p.connection, "connection", "c", "", "as perftest's: RC is --qp rc; MP is --qp mp")
	if s.Metric == perf.Bandwidth {
		flags.IntVarP(&p.postList, "post_list", "l", 0, "operations posted with one call, of which the last has a completion")
		flags.IntVarP(&p.cqModerate, "cq-mod", "Q", 0, "operations for one completion; they are posted with one call")
		flags.BoolVar(&p.gbits, "report_gbits", false, "bandwidth in Gb/sec instead of MiB/sec")
		flags.BoolVar(&p.infinitely, "run_infinitely", false, "until Ctrl-C, with a line each --duration (default 5 seconds)")
	} else {
		flags.IntP("ib-port", "i", 0, "accepted, and ignored: there are no ports of RDMA devices")
		flags.BoolVarP(&s.Histogram, "report-histogram", "H", false, "print how many operations took how long, too")
	}
	if s.Op == perf.Send || s.Op == perf.Write && s.Metric == perf.Latency {
		flags.IntVarP(&s.RxDepth, "rx-depth", "r", 0, "receives posted (default: four times --tx-depth, at least 512)")
	} else {
		flags.IntP("rx-depth", "r", 0, "accepted, and ignored: "+noReceives)
	}
	if s.Op == perf.Send || s.Op == perf.Write {
		flags.VarP(&sizeFlag[int]{bytes: &s.Inline}, "inline_size", "I", "longest message that is copied into its request")
	}
	flags.BoolVarP(&s.Events, "events", "e", false, "sleep until there are completions instead of polling")
	flags.IntVarP(&p.tos, "tos", "T", 0, "type of service of this end's packets; its two bits of ECN are braid's")
	flags.BoolVar(&p.cpuUtil, "cpu_util", false, "how busy this machine's processors are, in percent")
	flags.StringVar(&p.jsonFile, "out_json_file", "", "write the JSON object to this file, besides what is printed")
	flags.BoolVar(&p.outJSON, "out_json", false, "the same to "+defaultJSONFile)
	flags.BoolP("CPU-freq", "F", false, "accepted; braid never warns of the processor's frequency")
	for _, f := range ignoredFlags {
		usage := "accepted, and ignored: " + f.instead
		switch f.kind {
		case "bool":
			flags.BoolP(f.name, f.letter, false, usage)
		case "int":
			flags.IntP(f.name, f.letter, 0, usage)
		default:
			flags.StringP(f.name, f.letter, "", usage)
		}
	}
}

// noReceives is why some tests have no use for a number of them.
const noReceives = "this test posts no receives"

// notices says of each option that was given and is ignored that it is.
func (f *perfFlags) notices(cmd *cobra.Command) {
	for _, ignored := range ignoredFlags {
		if cmd.Flags().Changed(ignored.name) {
			fmt.Fprintf(cmd.ErrOrStderr(), "-%s, --%s is ignored: %s\n", ignored.letter, ignored.name, ignored.instead)
		}
	}
	if f.interval.port || cmd.Flags().Changed("ib-port") {
		fmt.Fprintln(cmd.ErrOrStderr(), "-i, --ib-port is ignored: there are no ports of RDMA devices")
	}
	if f.spec.RxDepth == 0 && cmd.Flags().Changed("rx-depth") {
		fmt.Fprintln(cmd.ErrOrStderr(), "-r, --rx-depth is ignored:", noReceives)
	}
	if p := &f.perftest; p.postList > 0 && p.cqModerate > 0 && p.postList != p.cqModerate {
		fmt.Fprintf(cmd.ErrOrStderr(), "-l, --post_list is ignored beside --cq-mod: %d operations are posted with one call and have one completion\n", p.cqModerate)
	}
}

// finishPerftest settles what perftest's options mean for the test.
func (f *perfFlags) finishPerftest(cmd *cobra.Command) error {
	p := &f.perftest
	if err := f.choosesConnection(cmd); err != nil {
		return err
	}
	f.spec.Group = p.postList
	if p.cqModerate > 0 {
		f.spec.Group = p.cqModerate
	}
	switch {
	case f.compat != "" && cmd.Flags().Changed("rdma_cm"):
		return cli.Usage(fmt.Errorf("--rdma_cm: perftest's own connecting through rdma_cm is not possible: leave it out at both ends"))
	case p.infinitely && (cmd.Flags().Changed("iters") || f.all):
		return cli.Usage(fmt.Errorf("--run_infinitely excludes --iters and --all"))
	}
	if p.outJSON && p.jsonFile == "" {
		p.jsonFile = defaultJSONFile
	}
	f.interval.settle(f.compat != "")
	if p.infinitely {
		f.runInfinitely()
	}
	return f.device.setTOS(p.tos)
}

// runInfinitely makes a test as long as there are, with a line each time that one would have lasted.
func (f *perfFlags) runInfinitely() {
	if f.interval.Duration == 0 {
		f.interval.Duration = f.spec.Duration
	}
	if f.interval.Duration == 0 {
		f.interval.Duration = 5 * time.Second // perftest's
	}
	f.spec.Duration = longestDuration * time.Second
}

// openTable is where results go. The file is made before anything is measured, so that one which
// cannot be made costs no measurement.
func (f *perfFlags) openTable(w io.Writer) (*perfTable, error) {
	t := newPerfTable(w, f.json)
	t.gbits = f.perftest.gbits
	if f.perftest.jsonFile == "" {
		return t, nil
	}
	var err error
	t.file, err = os.Create(f.perftest.jsonFile)
	return t, err
}

// measureBusy measures how busy the processors are as well, if that is asked for.
func (f *perfFlags) measureBusy(measure func() (*perf.Result, error)) (*perf.Result, error) {
	if !f.perftest.cpuUtil {
		return measure()
	}
	before, err := readProcessorTimes()
	if err != nil {
		return nil, err
	}
	result, failed := measure()
	after, err := readProcessorTimes()
	if err != nil {
		return nil, err
	}
	if result != nil && after.all > before.all {
		busy := 100 * float64(after.busy-before.busy) / float64(after.all-before.all)
		result.CPUPercent = &busy
	}
	return result, failed
}

// choosesConnection takes perftest's type of connection for that of queue pairs.
func (f *perfFlags) choosesConnection(cmd *cobra.Command) error {
	if f.perftest.connection == "" {
		return nil
	}
	qp := strings.ToLower(f.perftest.connection)
	switch {
	case !slices.Contains([]string{"rc", "mp"}, qp):
		return cli.Usage(fmt.Errorf("--connection %s is not possible: use RC or MP", f.perftest.connection))
	case cmd.Flags().Changed("qp") && f.spec.QP != qp:
		return cli.Usage(fmt.Errorf("--connection %s and --qp %s exclude each other", f.perftest.connection, f.spec.QP))
	}
	f.spec.QP = qp
	return nil
}

// intervalFlag is a time between two reports: 500ms, or a number of seconds as -D has. Its
// letter is that of the port of an RDMA device in perftest, for whose peers a bare number is one.
type intervalFlag struct {
	time.Duration
	bare bool
	port bool // it was one
}

// shortestInterval is one in which something can be measured, and read.
const shortestInterval = 10 * time.Millisecond

// Set reads the flag.
func (f *intervalFlag) Set(text string) error {
	d, err := time.ParseDuration(text)
	number, notNumber := strconv.ParseFloat(text, 64)
	if f.bare = notNumber == nil; f.bare {
		d, err = seconds(number), nil
	}
	if err != nil || d < shortestInterval || d > longestDuration*time.Second {
		return fmt.Errorf("use a time such as 500ms or 1 (second), of at least %v", shortestInterval)
	}
	f.Duration = d
	return nil
}

// settle decides what a bare number was.
func (f *intervalFlag) settle(perftest bool) {
	if perftest && f.bare {
		f.Duration, f.port = 0, true
	}
}

// Type names the value in help texts.
func (f *intervalFlag) Type() string { return "time" }

// String is empty where nothing was said.
func (f *intervalFlag) String() string {
	if f.Duration == 0 {
		return ""
	}
	return f.Duration.String()
}
