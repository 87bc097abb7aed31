package trials

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/braid-rdma/braid/lab"
	"github.com/braid-rdma/braid/lab/traffic"
)

// Terms that all trials share.
const (
	gigabit  = 1e9 // the rate of a path, in b/s
	slow     = 4e8 // that of a path in quick runs: slow processors keep up with four of them
	warmUp   = time.Second
	wanted   = 0.95 // of what is possible, braid promises this part
	anyPath  = -1
	lastPath = 3
)

// session is a trial that runs.
type session struct {
	Options
	ctx     context.Context
	outcome *Outcome
	network *lab.Network
	runner  traffic.Runner
	used    map[string]int // how many addresses of a host have been given away
}

// rate is that of a path in b/s, where a trial has no other.
func (s *session) rate() float64 {
	if s.Quick {
		return slow
	}
	return gigabit
}

// repeats is how often a measurement is made: the best counts.
func (s *session) repeats() int {
	if s.Quick {
		return 1
	}
	return 3
}

// measuring is how long a steady measurement lasts, without its warm-up.
func (s *session) measuring() time.Duration {
	if s.Quick {
		return 2 * time.Second
	}
	return 3 * time.Second
}

// build takes the last lab down and builds another.
func (s *session) build(o lab.Options) error {
	o.Name = labName
	if o.Rate == 0 {
		o.Rate = int64(s.rate())
	}
	if err := lab.Down(labName); err != nil {
		return err
	}
	n, err := lab.Up(s.ctx, o)
	if err != nil {
		return err
	}
	for _, host := range n.Hosts() {
		if err := n.EnableMPTCP(host); err != nil {
			return err
		}
	}
	s.used = map[string]int{}
	s.network, s.runner = n, traffic.Runner{Lab: n, Command: s.Command}
	return nil
}

// pair builds a lab with one host at each end.
func (s *session) pair() error { return s.build(lab.Options{HostsPerLeaf: 1}) }

// start starts a flow between two hosts. Single-path traffic can be given a path;
// MPTCP always begins at the address of the first.
func (s *session) start(kind traffic.Kind, from, to string, path int) (*traffic.Flow, error) {
	return s.startSpec(traffic.Spec{Kind: kind}, from, to, path)
}

// startSpec is start for traffic that is special.
func (s *session) startSpec(spec traffic.Spec, from, to string, path int) (*traffic.Flow, error) {
	kind := spec.Kind
	sender, err := s.network.Node(from)
	if err != nil {
		return nil, err
	}
	receiver, err := s.network.Node(to)
	if err != nil {
		return nil, err
	}
	source := s.address(sender)
	switch {
	case kind == traffic.MPTCP:
		source = sender.Pinned[0]
	case path != anyPath && kind != traffic.MP:
		source = sender.Pinned[path]
	}
	spec.Control = s.TCPControl
	return s.runner.Start(spec,
		traffic.End{Host: from, Addr: source}, traffic.End{Host: to, Addr: s.address(receiver)})
}

// address gives the addresses of a host out in turns: flows that run at the same
// time need one each.
func (s *session) address(node *lab.Node) netip.Addr {
	turn := s.used[node.Name]
	s.used[node.Name]++
	if turn %= 1 + len(node.Spare); turn > 0 {
		return node.Spare[turn-1]
	}
	return node.Addr
}

// wait lets time pass.
func (s *session) wait(d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	}
}

// event is something that happens to the network during a run.
type event struct {
	after time.Duration // since the start of the run
	what  string
	do    func(*lab.Network) error
}

// play runs one flow from the first host to the last for a time while events
// happen.
func (s *session) play(kind traffic.Kind, path int, length time.Duration, events ...event) (*traffic.Result, error) {
	hosts := s.network.Hosts()
	flow, err := s.start(kind, hosts[0], hosts[len(hosts)-1], path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kind.Title(), err)
	}
	defer flow.Close()
	for _, e := range events {
		if err := s.watch(flow, flow.Began+e.after); err != nil {
			return nil, err
		}
		s.Progress(kind.Title() + ": " + e.what)
		if err := e.do(s.network); err != nil {
			return nil, err
		}
	}
	if err := s.watch(flow, flow.Began+length); err != nil {
		return nil, err
	}
	return flow.Stop()
}

// watch waits until a time and shows the goodput meanwhile.
func (s *session) watch(flow *traffic.Flow, until time.Duration) error {
	const interval = 500 * time.Millisecond
	for {
		left := until - traffic.Now()
		if left <= 0 {
			return nil
		}
		before, began := flow.Delivered(), traffic.Now()
		if err := s.wait(min(left, interval)); err != nil {
			return err
		}
		if left >= interval {
			rate := 8 * float64(flow.Delivered()-before) / (traffic.Now() - began).Seconds()
			s.Progress(fmt.Sprintf("%s: %s Gb/s", flow.Kind.Title(), gigabits(rate)))
		}
	}
}

// steady is the goodput of a result after the warm-up.
func steady(r *traffic.Result) float64 { return r.Record.Goodput(r.Began+warmUp, r.Ended) }

// best repeats a run and returns the one with the most goodput.
func (s *session) best(run func() (*traffic.Result, error)) (*traffic.Result, error) {
	var best *traffic.Result
	for range s.repeats() {
		r, err := run()
		if err != nil {
			return nil, err
		}
		if best == nil || better(r, best) {
			best = r
		}
	}
	return best, nil
}

// better prefers a run without failure, and then the faster one.
func better(a, b *traffic.Result) bool {
	if (a.Failure == "") != (b.Failure == "") {
		return a.Failure == ""
	}
	return steady(a) > steady(b)
}

// expected is the mean over four paths for traffic that gets one of them by
// chance, when some have the fault and the others are like healthy.
func expected(faulty, healthy float64, paths int) float64 {
	return (float64(paths)*faulty + float64(4-paths)*healthy) / 4
}

// singlePath says whether traffic of a kind has one path only.
func singlePath(kind traffic.Kind) bool { return kind == traffic.RC || kind == traffic.TCP }
