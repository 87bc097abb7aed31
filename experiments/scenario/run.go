package scenario

import (
	"fmt"
	"slices"
	"time"

	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/sim/workload"
)

// A Run is a scenario at work. Start makes it, Go lets it happen; afterwards, or
// while Go reports progress, everything can be read.
type Run struct {
	Scenario *Scenario
	Net      *sim.Network
	Traffic  map[string]*sim.Traffic // by the name of the transport
	Flows    []*Flow                 // in the order of the workload
	Samples  Samples
	// Degrees counts packets by their out-of-order degree, by the name of the
	// transport, if the scenario asks for it.
	Degrees map[string]*Degrees
	// Complete says that the run has reached its end.
	Complete bool
	// Wall is how long the run took so far; no other field depends on the machine.
	Wall time.Duration

	at      sim.Time // the instant up to which everything has happened
	endless bool     // some flow has no end
	first   int      // flows before it have ended
}

// Now is the instant that the run has reached.
func (r *Run) Now() sim.Time { return r.at }

// Flow is one flow of a run.
type Flow struct {
	Number    int // in Run.Flows
	Workload  int // the entry of the workload that it comes from
	Transport string
	Traffic   *sim.Traffic
	Index     int // in Traffic
}

// Result returns what has become of the flow so far. IDs in it are numbers of the
// run.
func (f *Flow) Result() sim.FlowResult {
	r := f.Traffic.Result(f.Index)
	r.ID = f.Number
	r.After = slices.Clone(r.After)
	for i := range r.After {
		r.After[i] += f.Number - f.Index // flows wait for flows of their own workload only
	}
	return r
}

// Delivered is the payload that has arrived so far, in bytes, packet by packet.
func (f *Flow) Delivered() int64 { return f.Traffic.Delivered(f.Index) }

// Acked is the payload that has been acknowledged so far, in bytes, message by
// message.
func (f *Flow) Acked() int64 { return f.Traffic.Acked(f.Index) }

// State returns how the flow moves just now.
func (f *Flow) State() sim.FlowState { return f.Traffic.State(f.Index) }

// Start builds the network and the traffic. Nothing has happened yet.
func (s *Scenario) Start() (*Run, error) {
	net, err := sim.New(s.graph, s.config())
	if err != nil {
		return nil, s.refused("fabric", err)
	}
	r := &Run{Scenario: s, Net: net, Traffic: map[string]*sim.Traffic{}, Degrees: map[string]*Degrees{}}
	if err := r.carry(); err != nil {
		return nil, err
	}
	// In the order of names: where wildcards overlap, the last one counts.
	for _, name := range sortedKeys(s.Fabric.Links) {
		if err := r.mark(name, s.Fabric.Links[name]); err != nil {
			return nil, s.refused("fabric.links."+name, err)
		}
	}
	if err := s.impair(net); err != nil {
		return nil, s.refused("faults", err)
	}
	if err := s.slowDown(net); err != nil {
		return nil, s.refused("receivers", err)
	}
	r.Samples.prepare(r)
	return r, nil
}

// refused says which part of the scenario the simulator does not take.
func (s *Scenario) refused(field string, err error) error {
	e := &Error{File: s.file, Field: field, Want: "what the simulator takes"}
	if n := s.places[field]; n != nil {
		e.Line, e.Column = n.Line, n.Column
	}
	return fmt.Errorf("%w: %w", e, err)
}

// mark gives links a marking of their own.
func (r *Run) mark(pattern string, override *LinkOverride) error {
	g := r.Scenario.graph
	for _, name := range linksLike(g, pattern) {
		link, _ := g.LinkNamed(name)
		numbers := []int{2 * link, 2*link + 1}
		switch override.Direction {
		case sim.Forth:
			numbers = numbers[:1]
		case sim.Back:
			numbers = numbers[1:]
		}
		for _, number := range numbers {
			if err := r.Net.SetMarking(number, override.ECN.marking()); err != nil {
				return err
			}
		}
	}
	return nil
}

// carry hands the flows to the transports, in the order of names: the choices of
// set-up draw from the hosts' random sources.
func (r *Run) carry() error {
	s := r.Scenario
	byTransport := map[string][]workload.Flow{}
	for number := range s.flows {
		planned := &s.flows[number]
		name := s.Workload[planned.entry].Transport
		f := planned.Flow
		index := len(byTransport[name])
		f.After = slices.Clone(f.After)
		for i := range f.After {
			f.After[i] += index - f.ID
		}
		f.ID = index
		byTransport[name] = append(byTransport[name], f)
		r.Flows = append(r.Flows, &Flow{Number: number, Workload: planned.entry, Transport: name, Index: index})
		r.endless = r.endless || f.Bytes == 0
	}
	lineRate := s.hostRate()
	for _, name := range sortedKeys(byTransport) {
		var observe func(int)
		if s.Measure.Degrees && s.Transports[name].MP != nil {
			r.Degrees[name] = &Degrees{}
			observe = r.Degrees[name].add
		}
		carrier := s.Transports[name].carrier(lineRate, observe)
		carrier.Trace = s.Trace
		traffic, err := r.Net.Carry(byTransport[name], carrier)
		if err != nil {
			return s.refused("transports."+name, err)
		}
		r.Traffic[name] = traffic
	}
	for _, f := range r.Flows {
		f.Traffic = r.Traffic[f.Transport]
	}
	return nil
}
