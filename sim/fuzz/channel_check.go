package fuzz

import (
	"fmt"
	"hash/fnv"
	"net/netip"
	"slices"

	"github.com/braid-rdma/braid"
	"github.com/braid-rdma/braid/sim"
)

const (
	// channelBound is how long channels may take when nothing is wrong any more: a handshake that has
	// lost its last message is over after 30 s, a close after 5 s, a silent peer is given up after
	// 4.3 s twice.
	channelBound = 60 * sim.Second
	// handshakeBound is when a peer that has died will not have dialled.
	handshakeBound = 40 * sim.Second
)

// channelTime is how long the programs of channels may take by themselves.
func (s *scenario) channelTime() (t sim.Time) {
	if len(s.channels) == 0 {
		return 0
	}
	for i := range s.channels {
		c := &s.channels[i]
		t += c.start + c.hasty
		for side := range c.ends {
			idle := c.ends[1-side].idle
			for _, thread := range c.ends[side].threads {
				for _, m := range thread {
					t += m.thinking + m.holds + idle + perOperation
				}
			}
		}
	}
	for i := range s.contexts {
		if f := s.contexts[i].filter; f != nil {
			t += f.until + sim.Time(f.Delay)*sim.Nanosecond*sim.Time(s.operations())
		}
		t += s.contexts[i].dies
	}
	if s.mock != nil {
		t += s.mock.returnBound()
	}
	return t + channelBound
}

// note adds what a program sees to the history of the world.
func (e *channelEnd) note(what messageKind, length int, err error) {
	h := fnv.New64a()
	fmt.Fprintln(h, e.w.history, e.w.net.Now(), e.number, e.side, what, length, err)
	e.w.history = h.Sum64()
}

// moves says whether packets leave the network, and so overtake others.
func (s *scenario) moves() bool {
	for i := range s.channels {
		if len(s.channels[i].moves) > 0 || s.channels[i].sheltered > 0 {
			return true
		}
	}
	return false
}

// objects is what a device has.
type objects struct{ PDs, CQs, QPs int }

func (w *world) objectsOf(host int) objects {
	a := w.hosts[host].device.Query()
	return objects{a.PDs, a.CQs, a.QPs}
}

// addressOf is the address of a host.
func (w *world) addressOf(host int) netip.Addr { return w.hosts[host].device.Query().Local }

// regionBytes is the size of the regions of a context.
const regionBytes = 4 << 20

// checkFreed checks that channels that have ended have left nothing.
func (n *node) checkFreed() {
	for _, e := range n.ends {
		e.checkCounter()
		if err := e.window.memory.Close(); err != nil {
			e.fail("deregister: %v", err)
		}
	}
	if err := n.context.Set("qp_cache", "-1"); err != nil { // whose queue pairs have receives
		n.w.fail("host %d: %v", n.host, err)
	}
	s := n.context.Stats()
	if s.Channels != 0 || s.Listeners != 0 || s.PendingBytes != 0 || s.BufferBytes != s.UnusedBytes || s.FrameBytes != s.UnusedFrameBytes {
		n.w.fail("host %d: all channels have ended, and the context has %+v", n.host, s)
	}
	// Talks have regions as well, and deregister some.
	regions := n.regions + (s.FrameBytes+regionBytes-1)/regionBytes + s.BufferBytes/regionBytes + 1 // and that of the connection manager
	if got := n.w.hosts[n.host].device.Query().MRs; got > regions {
		n.w.fail("host %d: all channels have ended, and %d regions are left, want %d", n.host, got, regions)
	}
}

// checkStats checks the books of a channel.
func (e *channelEnd) checkStats(s braid.Stats) {
	if s.RNRs != 0 {
		e.fail("%d messages found no receive", s.RNRs)
	}
	if f := &e.filtered; s.Filtered < f.lost+f.doubled+f.changed {
		e.fail("the filter counts %d messages, but %+v were disturbed", s.Filtered, *f)
	}
	if s.Acknowledged > s.Sent {
		e.fail("%d of %d messages are acknowledged", s.Acknowledged, s.Sent)
	}
}

// checkComplete checks that all has been received when both ends say so.
func (e *channelEnd) checkComplete() {
	e.peer().checkFlushed(len(e.peer().sent))
	e.checkFlushed(len(e.sent))
	if f := e.filter(); f != nil {
		e.lost += uint64(len(e.peer().sent) - e.next - withdrawn(e.peer().sent[e.next:]))
		if f.Drop == 0 && e.lost > 0 {
			e.fail("%d messages are missing", e.lost)
		}
	}
}

func withdrawn(sent []*message) (n int) {
	for _, m := range sent {
		if m.withdrawn {
			n++
		}
	}
	return n
}

// unfinishedChannels says who waits for what.
func (w *world) unfinishedChannels() (s string) {
	for _, n := range w.nodes {
		if n.finished() {
			continue
		}
		for _, e := range n.ends {
			if !e.ended {
				s += fmt.Sprintf("channel %d host %d: up %v, settled %v, closing %v, %d messages and %d calls sent, %d received; ",
					e.number, n.host, e.ch != nil, e.settled, e.closing, len(e.sent), len(e.calls), e.next)
			}
		}
		s += fmt.Sprintf("the context of host %d is open; ", n.host)
	}
	return s
}

func (n *node) finished() bool { return n.done || n.dead() }

// linksOf are the names of the links of a host.
func (w *world) linksOf(host int) (names []string) {
	for _, l := range w.graph.Links {
		if number := w.graph.Hosts[host]; l.A == number || l.B == number {
			names = append(names, l.Name)
		}
	}
	return names
}

// severed says whether a link belongs to a host that will die: its faults end with it.
func (w *world) severed(link string) bool {
	for _, n := range w.nodes {
		if n.spec.dies > 0 && slices.Contains(w.linksOf(n.host), link) {
			return true
		}
	}
	return false
}
