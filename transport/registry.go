package transport

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// NewPathPolicy makes the path policy of one connection.
type NewPathPolicy = func(paths int, o *MPOptions, r *rand.Rand) PathPolicy

// NewCongestionControl makes the congestion control of one connection.
type NewCongestionControl = func(o *MPOptions) CongestionControl

// NewRateOptions makes the options that a rate control needs: the control itself
// and the interval of congestion notices. lineRate is in bits per second.
type NewRateOptions = func(lineRate float64) RCOptions

// What there is to choose from, by name. The command line, scenarios, the
// simulator and the documentation know these names and no others, so what a
// program adds can be chosen everywhere. The first entry is the default.
var (
	// PathPolicies choose the path of each packet of an MP queue pair.
	PathPolicies = Registry[NewPathPolicy]{kind: "path policy", entries: []Entry[NewPathPolicy]{
		{"ack-clock", "each packet takes the path whose acknowledgement released it (MP-RDMA §3.2)", NewAckClock},
		{"single", "one path for all packets", NewSinglePath},
		{"round-robin", "the paths in turn", NewRoundRobin},
		{"spray", "a random path for each packet", NewRandomSpray},
		{"flowlet", "a random path after each gap of 100 µs between packets", NewFlowlet(DefaultFlowletGap)},
		{"penalty", "the paths in random order; one that was marked or lost packets sits out some of its turns", NewPenalty},
	}}
	// CongestionControls own the window of an MP queue pair.
	CongestionControls = Registry[NewCongestionControl]{kind: "congestion control of MP queue pairs", entries: []Entry[NewCongestionControl]{
		{"mp-rdma", "one ECN window for all paths, adjusted by each acknowledgement (MP-RDMA §3.2)", NewMPWindow},
		{"dctcp", "a window cut once per round trip by the share of marked packets (DCTCP)", NewDCTCP},
		{"fixed", "a constant window", NewFixedWindow},
	}}
	// RateControls own the sending rate of an RC queue pair.
	RateControls = Registry[NewRateOptions]{kind: "rate control of RC queue pairs", entries: []Entry[NewRateOptions]{
		{"none", "packets leave as soon as the window allows", func(float64) RCOptions { return RCOptions{} }},
		// The plain name is that of the authors' DCQCN: it is what the papers compare with,
		// and its notices are RoCEv2's own, which every peer understands.
		{"dcqcn", "DCQCN as its authors' ns-3 code and sample have it", dcqcnOptions(DCQCNAuthors)},
		{"dcqcn-hpcc", "DCQCN as HPCC's ns-3 code has it, notices in acknowledgements", dcqcnOptions(DCQCNHPCC)},
		{"dcqcn-hpcc-paper", "the same with the periods of the DCQCN paper", dcqcnOptions(DCQCNHPCCPaper)},
	}}
)

// dcqcnOptions makes the options of a published set of parameters.
func dcqcnOptions(set func(lineRate float64) DCQCNParameters) NewRateOptions {
	return func(lineRate float64) RCOptions { return set(lineRate).Options() }
}

// DefaultFlowletGap ends a flowlet: longer than the queues of a data centre
// differ, so that the next packet does not overtake the last.
const DefaultFlowletGap = 100 * time.Microsecond

// Entry is one thing that can be chosen by its name.
type Entry[T any] struct {
	Name        string // small letters, digits and hyphens
	Description string // one line
	New         T
}

// Registry has the things of one kind by name. Programs add theirs with Register.
type Registry[T any] struct {
	kind    string
	entries []Entry[T]
}

// UnknownNameError is a name that a registry does not have.
type UnknownNameError struct {
	Kind  string // what was to be chosen, such as "path policy"
	Name  string
	Known []string
	Is    string // what the name stands for elsewhere; empty: nothing
}

func (e *UnknownNameError) Error() string {
	known := strings.Join(e.Known, ", ")
	if e.Is != "" {
		return fmt.Sprintf("%q is a %s, not a %s: use one of %s", e.Name, e.Is, e.Kind, known)
	}
	return fmt.Sprintf("unknown %s %q: use one of %s", e.Kind, e.Name, known)
}

// Register adds an entry. It is meant for init functions and the beginning of
// main: there is no lock. A name that is taken or not well formed and an entry
// without a description are faults of the program and panic.
func (r *Registry[T]) Register(e Entry[T]) {
	if plainName(e.Name) == "" || strings.Trim(e.Name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || e.Description == "" {
		panic(fmt.Sprintf("transport: a %s needs a description and a name of a-z, 0-9 and hyphens, not %q", r.kind, e.Name))
	}
	if r.index(e.Name) >= 0 {
		panic(fmt.Sprintf("transport: there is a %s %q already", r.kind, e.Name))
	}
	r.entries = append(r.entries, e)
}

// Lookup finds an entry by its name. Hyphens and case do not matter, so
// "ackclock" is ack-clock; the entry has the proper spelling.
func (r *Registry[T]) Lookup(name string) (Entry[T], error) {
	if i := r.index(name); i >= 0 {
		return r.entries[i], nil
	}
	return Entry[T]{}, &UnknownNameError{Kind: r.kind, Name: name, Known: r.Names()}
}

// Default is the entry that is used where none is named.
func (r *Registry[T]) Default() Entry[T] { return r.entries[0] }

// Names lists the names, the default first.
func (r *Registry[T]) Names() []string {
	names := make([]string, len(r.entries))
	for i := range r.entries {
		names[i] = r.entries[i].Name
	}
	return names
}

// Entries lists everything, the default first.
func (r *Registry[T]) Entries() []Entry[T] { return slices.Clone(r.entries) }

func (r *Registry[T]) index(name string) int {
	plain := plainName(name)
	return slices.IndexFunc(r.entries, func(e Entry[T]) bool { return plainName(e.Name) == plain })
}

func plainName(name string) string { return strings.ToLower(strings.ReplaceAll(name, "-", "")) }

// Choose sets the path policy and the congestion control by name. Of an empty
// name nothing changes.
func (o *MPOptions) Choose(policy, control string) error {
	if policy != "" {
		p, err := PathPolicies.Lookup(policy)
		if err != nil {
			return err
		}
		o.Policy = p.New
	}
	if control != "" {
		c, err := CongestionControls.Lookup(control)
		if err != nil {
			return knownElsewhere(err, &RateControls)
		}
		o.Control = c.New
	}
	return nil
}

// ChooseRate sets the rate control by name. Of an empty name nothing changes.
func (o *RCOptions) ChooseRate(control string, lineRate float64) error {
	if control == "" {
		return nil
	}
	c, err := RateControls.Lookup(control)
	if err != nil {
		return knownElsewhere(err, &CongestionControls)
	}
	made := c.New(lineRate)
	o.Rate, o.Notices, o.CNPInterval = made.Rate, made.Notices, made.CNPInterval
	return nil
}

// knownElsewhere explains an unknown name that belongs to the other type of
// queue pair.
func knownElsewhere[T any](err error, other *Registry[T]) error {
	var unknown *UnknownNameError
	if errors.As(err, &unknown) && other.index(unknown.Name) >= 0 {
		unknown.Is = other.kind
	}
	return err
}
