package trials

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/braid-rdma/braid/experiments/table"
	"github.com/braid-rdma/braid/internal/statfile"
	"github.com/braid-rdma/braid/lab"
	"github.com/braid-rdma/braid/lab/traffic"
	"github.com/braid-rdma/braid/operate"
)

const (
	// nameTime is within what a fault must be named.
	nameTime = 30 * time.Second
	// lookTime is how long one look takes.
	lookTime = 500 * time.Millisecond
)

// ailment is something that is wrong, and what is to be said about it.
type ailment struct {
	name   string
	kind   traffic.Kind // default MP
	role   string       // who is asked; default sender
	causes []operate.Cause
	spec   traffic.Spec                   // what is special about the traffic
	begin  func(*session, *patient) error // nil: nothing happens
}

// patient is a flow that is ill, and what makes it well.
type patient struct {
	flow *traffic.Flow
	heal []func()
}

// faults are causes that a healthy flow must not be said to have.
var faults = []operate.Cause{
	operate.CauseClosed, operate.CauseUnreachable, operate.CausePeerReceives, operate.CausePathsRetired, operate.CauseSlowPath,
	operate.CauseDamage, operate.CauseFlood, operate.CauseIdle,
}

// ailments are the faults that are caused one by one.
var ailments = []ailment{
	{name: "well: the paths are full", causes: []operate.Cause{operate.CauseCongestion, operate.CauseNetwork}},
	{name: "well: the receiver", role: "receiver", causes: []operate.Cause{operate.CauseSender}},
	{name: "the program sends little", causes: []operate.Cause{operate.CauseIdle}, spec: traffic.Spec{Interval: 20 * time.Millisecond}},
	{name: "one path loses 5 %", causes: []operate.Cause{operate.CauseLoss, operate.CausePathsRetired}, begin: losing(0.05, 0)},
	{name: "all paths lose 2 %", causes: []operate.Cause{operate.CauseLoss}, begin: losing(0.02, 0, 1, 2, 3)},
	{name: "a path is cut", causes: []operate.Cause{operate.CausePathsRetired}, begin: losing(1, 1)},
	{name: "a path is cut for data", causes: []operate.Cause{operate.CausePathsRetired}, begin: func(s *session, _ *patient) error {
		return s.network.Cut(2, lab.Forward)
	}},
	{name: "a path flaps", causes: []operate.Cause{operate.CausePathsRetired, operate.CauseLoss}, begin: flapping},
	{name: "all paths are cut", causes: []operate.Cause{operate.CauseUnreachable}, begin: losing(1, 0, 1, 2, 3)},
	{
		name: "a path has a fortieth of its rate", causes: []operate.Cause{operate.CauseCongestion, operate.CauseSlowPath, operate.CauseLoss, operate.CausePathsRetired},
		begin: func(s *session, _ *patient) error { return s.network.SetRate(3, int64(s.rate()/40)) },
	},
	{name: "a path is shared with TCP", causes: []operate.Cause{operate.CauseCongestion, operate.CauseLoss}, begin: competing},
	{name: "the receiver is stopped", causes: []operate.Cause{operate.CauseUnreachable, operate.CausePeerBuffer}, begin: signalling(syscall.SIGSTOP)},
	{name: "the receiver is killed", causes: []operate.Cause{operate.CauseUnreachable, operate.CauseClosed}, begin: signalling(syscall.SIGKILL)},
	{name: "the machine is busy", causes: []operate.Cause{operate.CauseHostBusy}, begin: busying},
	{name: "one path for RC, paced", kind: traffic.RC, causes: []operate.Cause{operate.CausePacing}},
}

// runOperate causes faults one by one and asks what is the matter, as `braid why` does.
func runOperate(s *session) (err error) {
	dir, err := os.MkdirTemp("/dev/shm", "braid-lab-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	// The processes of the flows offer their sockets there.
	before, was := os.LookupEnv(statfile.DirVariable)
	if err := os.Setenv(statfile.DirVariable, dir); err != nil {
		return err
	}
	defer func() {
		if was {
			err = errors.Join(err, os.Setenv(statfile.DirVariable, before))
		} else {
			err = errors.Join(err, os.Unsetenv(statfile.DirVariable))
		}
	}()
	if err := s.build(lab.Options{HostsPerLeaf: 2}); err != nil {
		return err
	}
	s.outcome.Grid.Columns = []string{"fault", "named", "after", "braid why says"}
	unnamed := 0
	for _, a := range ailments {
		found, took, err := s.examine(&a)
		if err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		if found == nil {
			unnamed++
			found = &operate.Finding{Cause: "no"}
		}
		s.outcome.Grid.add(a.name, string(found.Cause), milliseconds(took), found.Says)
	}
	s.judge(fmt.Sprintf("faults of %d that are not named within %v", len(ailments), nameTime), "", float64(unnamed), table.AtMost(0), "")
	return nil
}

// examine causes a fault and looks until it is named.
func (s *session) examine(a *ailment) (found *operate.Finding, took time.Duration, err error) {
	s.Progress(a.name)
	hosts := s.network.Hosts()
	p := &patient{}
	a.spec.Kind, a.spec.Offer = a.kind, true
	if a.spec.Kind == "" {
		a.spec.Kind = traffic.MP
	}
	if p.flow, err = s.startSpec(a.spec, hosts[0], hosts[len(hosts)-1], 0); err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, s.heal(p)) }()
	if err := s.wait(lookTime); err != nil {
		return nil, 0, err
	}
	if a.begin != nil {
		if err := a.begin(s, p); err != nil {
			return nil, 0, err
		}
	}
	began := time.Now()
	for time.Since(began) < nameTime {
		e, err := s.evidence(a)
		if err != nil {
			return nil, 0, err
		}
		if found = a.named(e.Explain()); found != nil {
			break
		}
	}
	return found, time.Since(began), nil
}

// evidence is that of the end that is asked.
func (s *session) evidence(a *ailment) (*operate.Evidence, error) {
	role := a.role
	if role == "" {
		role = "sender"
	}
	ctx, cancel := context.WithTimeout(s.ctx, nameTime)
	defer cancel()
	var asked *operate.Program
	for p, err := range operate.Programs(ctx) {
		if err != nil {
			continue // one that was stopped, perhaps
		}
		if asked == nil && p.Labels == "role="+role {
			asked = p
			continue
		}
		p.Close()
	}
	if asked == nil {
		return nil, fmt.Errorf("no %s offers a socket", role)
	}
	defer asked.Close()
	return asked.Gather(ctx, lookTime)
}

// named finds what was to be said. Of a flow that is well nothing else may be said that is a fault.
func (a *ailment) named(all []operate.Finding) *operate.Finding {
	if strings.HasPrefix(a.name, "well") && slices.ContainsFunc(all, func(f operate.Finding) bool { return slices.Contains(faults, f.Cause) }) {
		return nil
	}
	for i := range all {
		if slices.Contains(a.causes, all[i].Cause) {
			return &all[i]
		}
	}
	return nil
}

// heal ends a flow and makes the network whole.
func (s *session) heal(p *patient) (err error) {
	for _, f := range p.heal {
		f()
	}
	p.flow.Close()
	for path := range lastPath + 1 {
		err = errors.Join(err, s.network.Restore(path), s.network.SetRate(path, int64(s.rate())))
	}
	return err
}

func losing(probability float64, paths ...int) func(*session, *patient) error {
	return func(s *session, _ *patient) (err error) {
		for _, path := range paths {
			err = errors.Join(err, s.network.SetLoss(path, probability, lab.Both))
		}
		return err
	}
}

func signalling(signal syscall.Signal) func(*session, *patient) error {
	return func(_ *session, p *patient) error { return p.flow.SignalReceiver(signal) }
}

func flapping(s *session, p *patient) error {
	ctx, stop := context.WithCancel(s.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.network.Flap(ctx, 0, flapPeriod) // a path that could not flap is not named either
	}()
	p.heal = append(p.heal, func() { stop(); <-done })
	return nil
}

// competing has a TCP connection use one path.
func competing(s *session, p *patient) error {
	hosts := s.network.Hosts()
	other, err := s.start(traffic.TCP, hosts[1], hosts[2], lastPath)
	if err == nil {
		p.heal = append(p.heal, other.Close)
	}
	return err
}

// busying has as many programs compute as would use four times the processors.
func busying(s *session, p *patient) error {
	for range 4 * runtime.NumCPU() {
		busy := exec.CommandContext(s.ctx, "sh", "-c", "while :; do :; done")
		if err := busy.Start(); err != nil {
			return err
		}
		p.heal = append(p.heal, func() {
			_ = busy.Process.Kill()
			_ = busy.Wait()
		})
	}
	return nil
}
