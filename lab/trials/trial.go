package trials

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/lab"
	"github.com/braid-rdma/braid/lab/traffic"
	"github.com/braid-rdma/braid/monitor"
)

// Trial is one experiment.
type Trial struct {
	Name   string // as the command takes it
	Title  string
	Figure string // of the paper that it follows; may be empty
	run    func(*session) error
}

// All are the trials in the order in which they are run.
func All() []Trial {
	return []Trial{
		{"paths", "One connection over 1, 2 and 4 paths", "", runPaths},
		{"spread", "One connection with the defaults over 4, 8 and 16 paths", "", runSpread},
		{"loss", "Random loss on three of four paths", "MP-RDMA 11a", runLoss},
		{"cuts", "Paths cut and restored one by one", "MP-RDMA 11b", runCuts},
		{"oneway", "A path cut in one direction, and a path that flaps", "MP-RDMA 11b", runOneWay},
		{"degraded", "A path at a fortieth of its rate, and one without ECN marks", "MP-RDMA 14b", runDegraded},
		{"compete", "A competing flow on one path", "MP-RDMA 15", runCompete},
		{"permutation", "Five pairs of hosts over four paths", "MP-RDMA 12a", runPermutation},
		{"incast", "One to nine senders to one receiver", "MP-RDMA 17", runIncast},
		{"fairness", "Eight connections that start one by one", "MP-RDMA 16", runFairness},
		{"virtuoso", "Many queue pairs as one over 1 to 10 paths, and mice beside them", "Virtuoso 5 to 8", runVirtuoso},
		{"overflow", "Many queue pairs as one where queues overflow", "Virtuoso table 2", runOverflow},
		{"operate", "Faults one by one, and what braid why says", "X-RDMA table II", runOperate},
		{"monitor", "Faults one by one, and what the monitor says", "", runMonitor},
		{"partition", "Queue pairs and chunk sizes over four paths, one of them busy", "Data Partition 7 to 12", runPartition},
	}
}

// Errors that can be told apart with errors.Is.
var (
	// ErrName means that there is no such trial.
	ErrName = errors.New("no such trial")
	// ErrBusy means that trials run on this machine already.
	ErrBusy = errors.New("trials are running on this machine")
)

// Named finds a trial.
func Named(name string) (*Trial, error) {
	all := All()
	for i := range all {
		if all[i].Name == name {
			return &all[i], nil
		}
	}
	return nil, fmt.Errorf("%w: %q", ErrName, name)
}

// labName is the lab of trials: one that somebody has up for other purposes is
// not touched.
const labName = "braidtrial"

// Options say how to run a trial.
type Options struct {
	// Quick asks for shorter runs, for one of each only, and for slower paths.
	Quick bool
	// Kinds are the kinds of traffic to run; nil: all.
	Kinds []traffic.Kind
	// TCPControl is the congestion control of TCP and MPTCP; empty: the kernel's
	// default.
	TCPControl string
	// Margin loosens the bounds of what is judged by this part: for machines that
	// have other work to do.
	Margin float64
	// Command runs traffic.Agent: a program and its first arguments.
	Command []string
	// Progress, if not nil, is told in a few words what happens.
	Progress func(text string)
	// Named, if not nil, is called while a fault lasts that a monitor has named, with the address of its page.
	Named func(page string, alarm *monitor.Alarm) error
}

// Outcome is what a trial found.
type Outcome struct {
	figure.Outcome
	Grid Grid
}

// Run runs the trial in a lab of its own, which is removed in every case.
func (t *Trial) Run(ctx context.Context, o Options) (outcome *Outcome, err error) {
	s := &session{ctx: ctx, Options: o, outcome: &Outcome{Grid: Grid{Title: t.Title}}}
	if s.Progress == nil {
		s.Progress = func(string) {}
	}
	if s.Kinds == nil {
		s.Kinds = traffic.Kinds
	}
	release, err := claim()
	if err != nil {
		return nil, err
	}
	defer release()
	began := time.Now()
	defer func() { err = errors.Join(err, lab.Down(labName)) }()
	if err := t.run(s); err != nil {
		return nil, fmt.Errorf("%s: %w", t.Name, err)
	}
	s.outcome.Wall = time.Since(began)
	if o.TCPControl == "" {
		o.TCPControl = congestionControl()
	}
	s.outcome.Note("congestion control of TCP and MPTCP: " + o.TCPControl)
	return s.outcome, nil
}

// claim keeps other processes from running trials at the same time: they would
// take each other's lab down, and disturb each other's measurements. An abstract
// socket serves as the lock, because the kernel releases it whatever happens.
func claim() (release func(), err error) {
	lock, err := net.Listen("unix", "@"+labName)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, ErrBusy
	}
	if err != nil {
		return nil, err
	}
	return func() { _ = lock.Close() }, nil
}

// congestionControl is the kernel's default, which new namespaces inherit.
func congestionControl() string {
	name, err := os.ReadFile("/proc/sys/net/ipv4/tcp_congestion_control")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(name))
}

// Write puts an outcome into a directory.
func (o *Outcome) Write(dir string) error {
	if err := figure.Write(dir, &o.Outcome); err != nil {
		return err
	}
	csv, err := o.Grid.CSV()
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "grid.csv"), csv, 0o644),
		os.WriteFile(filepath.Join(dir, "grid.md"), []byte(o.Grid.Markdown()), 0o644),
		os.WriteFile(filepath.Join(dir, "grid.txt"), []byte(o.Grid.Text()), 0o644))
}
