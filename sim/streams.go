package sim

import (
	"fmt"
	"slices"
)

// Streams are TCP connections between the programs of hosts, as far as programs can see them:
// reliable, in order, with a delay and a rate. They do not share the links of the network, so that
// a script decides by itself which of the two works. What TCP does to be reliable is not simulated:
// what cannot pass waits, and passes as soon as it can.
type Streams struct {
	Delay Time  // of one way
	Rate  int64 // bits per second of all streams from one host to another; 0: there are no streams
}

// StreamFault is what is wrong with the streams from one host to another.
type StreamFault uint8

const (
	// StreamsWork is when nothing is.
	StreamsWork StreamFault = iota
	// StreamsStall holds back all that is sent, without a word to anybody.
	StreamsStall
	// StreamsRefused lets nobody open one; those that are open go on.
	StreamsRefused
)

func (f StreamFault) String() string {
	return [...]string{"work", "stall", "are refused"}[f]
}

// hostStreams are the streams of a host.
type hostStreams struct {
	lines     map[int]*streamLine // to other hosts
	listeners map[int]*streamListener
	open      []*streamEnd // that the program has not closed
	opened    int          // so many, for numbers of ports
}

// streamLine carries what streams of one host send to another, in order.
type streamLine struct {
	from  *host
	fault StreamFault
	free  Time     // when it can take the next bytes
	held  []func() // what has not passed because of a stall
}

// lineTo is the line to another host.
func (h *host) lineTo(to int) *streamLine {
	s := &h.streams
	if s.lines == nil {
		s.lines = map[int]*streamLine{}
	}
	if s.lines[to] == nil {
		s.lines[to] = &streamLine{from: h}
	}
	return s.lines[to]
}

// carry lets something arrive that is so many bytes long.
func (l *streamLine) carry(bytes int, arrive func()) {
	cfg, now := &l.from.net.cfg.Streams, l.from.now()
	l.free = max(l.free, now) + Time(int64(bytes)*8*int64(Second/1000)/max(1, cfg.Rate/1000))
	l.from.call(l.free+cfg.Delay, func() { l.pass(arrive) })
}

// pass lets something arrive, unless the line stalls.
func (l *streamLine) pass(arrive func()) {
	if l.fault == StreamsStall || len(l.held) > 0 {
		l.held = append(l.held, arrive)
		return
	}
	arrive()
}

// set changes the condition of the line. What was held back arrives, in order.
func (l *streamLine) set(f StreamFault) {
	l.fault = f
	if f == StreamsStall {
		return
	}
	held := l.held
	l.held = nil
	for _, arrive := range held {
		arrive()
	}
}

// ImpairStreams changes the condition of the streams from one host to another at an instant.
func (n *Network) ImpairStreams(at Time, from, to int, f StreamFault) error {
	if err := n.checkStreams(from, to); err != nil {
		return err
	}
	l := n.hosts[from].lineTo(to)
	l.from.call(max(at, n.Now()), func() { l.set(f) })
	return nil
}

// BreakStreams ends the streams between two hosts at an instant, as a device on their way does that
// has forgotten them: both ends are told.
func (n *Network) BreakStreams(at Time, a, b int) error {
	if err := n.checkStreams(a, b); err != nil {
		return err
	}
	h := n.hosts[a]
	h.call(max(at, n.Now()), func() {
		for _, s := range slices.Clone(h.streams.open) {
			if s.peer.host.number == b {
				s.fail(errReset)
				s.peer.fail(errReset)
			}
		}
	})
	return nil
}

func (n *Network) checkStreams(a, b int) error {
	switch {
	case n.cfg.Streams.Rate == 0:
		return fmt.Errorf("%w: the network has no streams", ErrConfig)
	case a < 0 || a >= len(n.hosts) || b < 0 || b >= len(n.hosts) || a == b:
		return fmt.Errorf("%w: there are no hosts %d and %d of %d", ErrConfig, a, b, len(n.hosts))
	}
	return nil
}

// OpenStreams counts the streams and listeners of a host that its program has not closed.
func (n *Network) OpenStreams(host int) int {
	s := &n.hosts[host].streams
	return len(s.open) + len(s.listeners)
}
