package scenario

import (
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/braid-rdma/braid/sim"
)

// Fabric is what hosts and switches are like.
type Fabric struct {
	MTU      int `yaml:"mtu"` // bytes of payload in a packet
	Paths    int // virtual paths that a host offers
	Priority int // traffic class of flows that name none
	Express  Express
	Switch
	// Switches are exceptions, by name.
	Switches map[string]*Switch
	// Links are those whose marking is another, by name.
	Links map[string]*LinkOverride
}

// Switch is what a switch is like.
type Switch struct {
	Buffer Bytes // shared by all ports
	ECN    ECN   `yaml:"ecn"`
	PFC    PFC   `yaml:"pfc"`
	// QueueShift limits a lossy queue to the free buffer divided by 2^QueueShift.
	QueueShift uint
	Weights    []int // by which priorities share a link; none: strict
	VLAN       bool  `yaml:"vlan"` // priorities are in tags that end at the first switch; else in the DSCP
	SharedHash bool  // all switches hash alike
}

// LinkOverride gives the sender's side of a link a marking of its own.
type LinkOverride struct {
	ECN       ECN `yaml:"ecn"`
	Direction sim.Direction
}

// Express is a traffic class for congestion notices of RC, and for its acknowledgements
// if Acks says so: ahead of everything, and not stopped by PFC.
type Express struct {
	Priority int  // 0: there is none
	Acks     bool // acknowledgements too
}

// ECN is a marking by queue length; "none" marks nothing, "dcqcn" and "dcqcn-hpcc" are
// the markings that were published with these rate controls.
type ECN struct {
	Kmin, Kmax Bytes // queues between which the probability of a mark grows from 0 to pmax; beyond kmax it is 1
	Pmax       float64
	Departing  bool // by the queue that a packet leaves behind, not by that which it joins
	Per        Rate // that the thresholds are for; 0: every link has the same
}

// markings are those that have names.
var markings = map[string]func() sim.Marking{
	"none":       func() sim.Marking { return sim.Marking{} },
	"dcqcn":      sim.MarkingDCQCN,
	"dcqcn-hpcc": sim.MarkingHPCC,
}

// PFC is priority flow control; true means its defaults.
type PFC struct {
	On         bool     `yaml:"-"`
	XOFF       Bytes    `yaml:"xoff"` // 0: dynamic
	Alpha      float64  // share of the free buffer that a port and priority may have; 0: 1/8
	Reserve    Bytes    // of each port and lossless priority; 0: 4KiB
	Headroom   Bytes    // of each port and lossless priority; 0: by rate, delay and reaction
	Hysteresis Bytes    // from XOFF to XON; 0: 3KiB
	Reaction   sim.Time // until a PFC frame is obeyed; 0: 2408ns
	Lossless   []int    // priorities; none: all
	Quanta     int      // of an XOFF frame, 512 bits each; 0: 65535
	Watchdog   sim.Time // how long a queue may be stopped; 0: for ever
}

// Defaults of the fabric; sim's own, where it has some.
const (
	defaultMTU      = 4096
	defaultPaths    = 64
	defaultPriority = 3
	defaultBuffer   = 32 << 20
)

func defaultFabric() Fabric {
	return Fabric{MTU: defaultMTU, Paths: defaultPaths, Priority: defaultPriority, Switch: Switch{Buffer: defaultBuffer}}
}

// newElement lets an exceptional switch begin with what all have.
func (f *Fabric) newElement() any {
	s := f.Switch
	return &s
}

func (e *ECN) read(word string) bool {
	named := markings[word]
	if named == nil {
		return false
	}
	m := named()
	*e = ECN{Kmin: Bytes(m.Kmin), Kmax: Bytes(m.Kmax), Pmax: m.Pmax, Departing: m.Departing, Per: Rate(m.Per)}
	return true
}

func (e *ECN) word() string {
	if e.Kmax == 0 {
		return "none"
	}
	return ""
}

func (e *ECN) words() string {
	return oneOf(sortedKeys(markings)) + ", or {kmin: SIZE, kmax: SIZE, pmax: NUMBER}"
}

func (e *ECN) choose(*decoder, *yaml.Node, string) bool {
	*e = ECN{Pmax: 1}
	return true
}

func (p *PFC) read(word string) bool {
	*p = PFC{On: word == "true"}
	return word == "true" || word == "false"
}

func (p *PFC) word() string { return strconv.FormatBool(p.On) }

func (p *PFC) words() string { return "true, false, or a mapping such as {xoff: 100KB}" }

func (p *PFC) choose(*decoder, *yaml.Node, string) bool {
	p.On = true
	return true
}

func (e *ECN) marking() sim.Marking {
	return sim.Marking{Kmin: int(e.Kmin), Kmax: int(e.Kmax), Pmax: e.Pmax, Departing: e.Departing, Per: int64(e.Per)}
}

func (s *Switch) config() sim.SwitchConfig {
	c := sim.SwitchConfig{
		Buffer: int(s.Buffer), Marking: s.ECN.marking(), QueueShift: s.QueueShift,
		Weights: s.Weights, SharedSeed: s.SharedHash, VLAN: s.VLAN,
		PFC: sim.PFC{
			On: s.PFC.On, XOFF: int(s.PFC.XOFF), Alpha: s.PFC.Alpha, Reserve: int(s.PFC.Reserve),
			Headroom: int(s.PFC.Headroom), Hysteresis: int(s.PFC.Hysteresis), Reaction: s.PFC.Reaction,
			Quanta: s.PFC.Quanta, Watchdog: s.PFC.Watchdog,
		},
	}
	for _, priority := range s.PFC.Lossless {
		c.PFC.Lossless |= 1 << priority
	}
	return c
}

// config is the network's configuration.
func (s *Scenario) config() sim.Config {
	f := &s.Fabric
	c := sim.Config{
		Seed: s.Seed, Workers: s.Workers, MTU: f.MTU, Paths: f.Paths, Priority: f.Priority,
		Express: sim.Express{Priority: f.Express.Priority, Acks: f.Express.Acks},
		Window:  s.receiverWindow(), Switch: f.config(), Verify: s.Verify, Wire: s.Wire,
	}
	if len(f.Switches) > 0 {
		c.SwitchFor = map[string]sim.SwitchConfig{}
		for name, override := range f.Switches {
			c.SwitchFor[name] = override.config()
		}
	}
	return c
}

// receiverWindow is the window that an RC transport names. It is the receiver's
// NIC that has it, so the checks see to it that there is only one.
func (s *Scenario) receiverWindow() int {
	for _, t := range s.Transports {
		if t.RC != nil && t.RC.Window > 0 {
			return t.RC.Window
		}
	}
	return 0
}
