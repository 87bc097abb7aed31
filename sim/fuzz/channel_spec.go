package fuzz

import (
	"fmt"
	"strings"

	"github.com/braid-rdma/braid"
	"github.com/braid-rdma/braid/sim"
)

// channelSpec describes a channel of package braid and what the programs at its ends do. The first
// host dials.
type channelSpec struct {
	hosts [2]int
	start sim.Time
	ends  [2]channelEndSpec
	// hasty is when an end closes the channel whatever goes on; 0: both ends do when all is done.
	hasty    sim.Time
	hastyEnd int
	moves    []moveSpec
	// sheltered lets all that both ends send take a carrier from the start, of this delay: no fault of
	// the network may end the channel. 0: it is not.
	sheltered sim.Time
	commands  []commandSpec // of carriers, in the order of time
	returns   bool          // it is closed only when it has come back to its carrier
}

// moveSpec moves what an end sends to a carrier beside the network, or back, as Mock does.
type moveSpec struct {
	at    sim.Time
	side  int
	delay sim.Time // of the carrier; 0: back to the network
}

// channelEndSpec is what one end of a channel does.
type channelEndSpec struct {
	threads [][]messageSpec // goroutines, which do one thing after another
	serves  bool            // a handler takes messages; else a goroutine receives them
	idle    sim.Time        // before a message is taken, or while a handler has it
}

// messageKind is what a goroutine does.
type messageKind uint8

const (
	oneWay messageKind = iota
	aCall
	aFlush
	aRead
	aWrite
	anAdd
	aMove // only in histories, as is the next
	allOneWay
)

func (k messageKind) String() string {
	return [...]string{"send", "call", "flush", "read", "write", "add", "move", "send all"}[k]
}

// messageSpec is one message, or another thing that is asked of a channel.
type messageSpec struct {
	kind     messageKind
	length   int
	reply    int      // bytes of the response to a call
	fails    bool     // the handler returns an error
	holds    sim.Time // how long the handler has it
	patience sim.Time // after which the sender gives up; 0: never
	thinking sim.Time // before it is sent
	joined   bool     // a message that is sent by the SendAll of the one before it, if that is one as well
}

// joins says whether a message is sent together with the one before it.
func joins(thread []messageSpec, i int) bool {
	return i > 0 && thread[i].joined && thread[i].kind == oneWay && thread[i-1].kind == oneWay
}

// contextSpec describes the context of a host.
type contextSpec struct {
	cfg    braid.Config
	filter *filterSpec
	dies   sim.Time // the host, with all that it has; 0: never
}

// filterSpec is a filter that is installed for a while.
type filterSpec struct {
	braid.Filter
	from, until sim.Time
	channel     int // which it concerns; -1: all
}

// everyThread lists what the goroutines of all channels do.
func (s *scenario) everyThread() (threads []*[]messageSpec) {
	for i := range s.channels {
		for side := range s.channels[i].ends {
			e := &s.channels[i].ends[side]
			for j := range e.threads {
				threads = append(threads, &e.threads[j])
			}
		}
	}
	return threads
}

// filterOf is the filter that messages which arrive at an end of a channel may meet.
func (s *scenario) filterOf(channel, side int) *filterSpec {
	f := s.contexts[s.channels[channel].hosts[side]].filter
	if f == nil || f.channel >= 0 && f.channel != channel {
		return nil
	}
	return f
}

// describeChannels prints channels and contexts.
func (s *scenario) describeChannels(b *strings.Builder) {
	for host := range s.contexts {
		c := &s.contexts[host]
		if !s.usesContext(host) {
			continue
		}
		g := &c.cfg
		fmt.Fprintf(b, "context of host %d: small %d, window %d, calls %d, fragments %d of %d, keepalive %v, patience %v, single path %v\n",
			host, g.SmallMessage, g.Window, g.Calls, g.Fragments, g.Fragment, g.Keepalive, g.Patience, g.SinglePath)
		if f := c.filter; f != nil {
			fmt.Fprintf(b, "  filter from %v to %v on channel %d: drop %v, duplicate %v, corrupt %v, slow %v by %v\n",
				f.from, f.until, f.channel, f.Drop, f.Duplicate, f.Corrupt, f.Slow, f.Delay)
		}
		if c.dies > 0 {
			fmt.Fprintf(b, "  the host dies at %v\n", c.dies)
		}
	}
	for i := range s.channels {
		c := &s.channels[i]
		fmt.Fprintf(b, "channel %d: host %d dials host %d at %v", i, c.hosts[0], c.hosts[1], c.start)
		if c.hasty > 0 {
			fmt.Fprintf(b, ", host %d closes it at %v", c.hosts[c.hastyEnd], c.hasty)
		}
		if c.sheltered > 0 {
			fmt.Fprintf(b, ", both send by a carrier of %v", c.sheltered)
		}
		b.WriteByte('\n')
		for _, m := range c.moves {
			fmt.Fprintf(b, "  at %v host %d sends by a carrier of %v\n", m.at, c.hosts[m.side], m.delay)
		}
		c.describeCommands(b)
		for side := range c.ends {
			c.ends[side].describe(b, c.hosts[side])
		}
	}
}

func (e *channelEndSpec) describe(b *strings.Builder, host int) {
	fmt.Fprintf(b, "  host %d: a handler %v, idle %v\n", host, e.serves, e.idle)
	for i, thread := range e.threads {
		for j := range thread {
			m := &thread[j]
			fmt.Fprintf(b, "  host %d, goroutine %d, %d: %v of %d bytes", host, i, j, m.kind, m.length)
			if m.kind == aCall {
				fmt.Fprintf(b, ", response of %d, fails %v, held for %v", m.reply, m.fails, m.holds)
			}
			if joins(thread, j) {
				fmt.Fprint(b, ", with the one before\n")
				continue
			}
			fmt.Fprintf(b, ", after %v, patience %v\n", m.thinking, m.patience)
		}
	}
}

// usesContext says whether a host has an end of a channel.
func (s *scenario) usesContext(host int) bool {
	for i := range s.channels {
		if h := s.channels[i].hosts; h[0] == host || h[1] == host {
			return true
		}
	}
	return false
}
