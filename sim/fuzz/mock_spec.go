package fuzz

import (
	"fmt"
	"slices"
	"strings"

	"github.com/braid-rdma/braid"
	"github.com/braid-rdma/braid/sim"
)

// mockSpec lets channels move to TCP by themselves, and says when TCP works. When UDP works is said
// by the faults of the scenario.
type mockSpec struct {
	// patience is that of all queue pairs of channels, where the scenario is steady.
	patience sim.Time
	// steady: at any time one of the carriers works in both directions, and for epochs of the patience
	// after that has changed. Then no channel ends, unless it is commanded to stay on UDP.
	steady bool
	faults []streamFaultSpec
}

// epochs is for how many times the patience of a queue pair the carriers of a steady scenario stay as
// they are. A side whose carrier fails knows of it after two eighths of its patience, and if it had just moved there
// two eighths after that; an attempt at TCP that hangs takes a third. That leaves time within one patience, which
// is what must suffice. The second is for the peer, which may have to do the same, and the third lets what was
// outstanding be sent again, so that a queue pair is as patient at the next change as at the first.
const epochs = 3

// returnBound is how long an idle channel may take back to UDP when all works: the longest pause between
// probes, which is half a minute, and time for what was silent before to be noticed.
func (m *mockSpec) returnBound() sim.Time { return 90*sim.Second + 10*m.patience }

// streamFaultSpec is something that is wrong with the streams between two hosts for a while.
type streamFaultSpec struct {
	from, until sim.Time
	hosts       [2]int
	kind        sim.StreamFault
	oneWay      bool // what the second host sends arrives
	breaks      bool // connections end when it begins
}

func (f *streamFaultSpec) concerns(hosts [2]int) bool {
	return f.hosts == hosts || f.hosts == [2]int{hosts[1], hosts[0]}
}

// commandSpec is a call of SetCarrier.
type commandSpec struct {
	at      sim.Time
	side    int
	carrier braid.Carrier
}

// canMove says whether both ends of a channel have TCP.
func (s *scenario) canMove(c *channelSpec) bool {
	return s.mock != nil && s.contexts[c.hosts[0]].cfg.Mock == braid.MockAuto && s.contexts[c.hosts[1]].cfg.Mock == braid.MockAuto
}

// outlives says whether a channel, once there is one, must not end before it is closed.
func (s *scenario) outlives(c *channelSpec) bool {
	if !s.canMove(c) || !s.mock.steady {
		return false
	}
	for _, command := range c.commands {
		if command.carrier == braid.CarrierUDP {
			return false
		}
	}
	return true
}

// tcpFails says whether the TCP of a channel fails, which may be on it at that time. Where the scenario is not steady
// its ends differ in their patience, and one may give up before the other has left TCP.
func (s *scenario) tcpFails(c *channelSpec) bool {
	return s.canMove(c) && slices.ContainsFunc(s.mock.faults, func(f streamFaultSpec) bool { return f.concerns(c.hosts) })
}

func (m *mockSpec) describe(b *strings.Builder) {
	if m == nil {
		return
	}
	fmt.Fprintf(b, "Mock, with a patience of %v, one carrier works at any time: %v\n", m.patience, m.steady)
	for _, f := range m.faults {
		fmt.Fprintf(b, "  from %v to %v the streams between hosts %d and %d %v, one way %v, broken %v\n", f.from, f.until, f.hosts[0], f.hosts[1], f.kind, f.oneWay, f.breaks)
	}
}

func (c *channelSpec) describeCommands(b *strings.Builder) {
	for _, m := range c.commands {
		fmt.Fprintf(b, "  at %v host %d commands %v\n", m.at, c.hosts[m.side], m.carrier)
	}
	if c.returns {
		b.WriteString("  it is closed when it has found its carrier\n")
	}
}
