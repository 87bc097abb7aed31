package scenario

import (
	"time"

	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/transport"
)

// MP are the parameters of a multi-path transport; transport.MPOptions says what
// each means. What is not given is the preset's.
type MP struct {
	Preset          string `oneof:"preset"` // a set of values for all that is not given
	Slots           int
	Delta           int
	Alpha           float64
	Probe           float64
	InitialWindow   int
	MaxWindow       int
	MaxWindowBytes  Bytes
	Run             int
	BatchAcks       bool
	Selective       bool
	LossResponse    bool
	LossTolerance   float64
	RetirePaths     bool
	Rebalance       bool
	WindowedSpan    bool
	KeepWindow      bool
	GrowUsed        bool
	EarlyRetransmit float64
	MinRTO          sim.Time `yaml:"min-rto"`
	InitialRTT      sim.Time `yaml:"initial-rtt"`
	Policy          string   `oneof:"policy"` // chooses the path of each packet
	FlowletGap      sim.Time // of the policy flowlet
	Control         string   `oneof:"control"` // owns the congestion window
	Paths           int      // virtual paths; 0: all that the fabric offers
}

const presetPaper = "paper"

// presets are the named sets of parameters.
var presets = map[string]func() transport.MPOptions{
	presetPaper: transport.PaperOptions,
	"wire":      transport.WireOptions,
}

// policyFlowlet is the policy that has a parameter in scenarios.
const policyFlowlet = "flowlet"

// mpOf is a preset as a scenario has it.
func mpOf(preset string, o transport.MPOptions) *MP {
	return &MP{
		Preset: preset, Slots: o.Slots, Delta: o.Delta, Alpha: o.Alpha, Probe: o.ProbeProbability,
		InitialWindow: o.InitialWindow, MaxWindow: o.MaxWindow, MaxWindowBytes: Bytes(o.MaxWindowBytes), Run: o.Run,
		BatchAcks: o.BatchAcks, Selective: o.Selective, LossResponse: o.LossResponse, LossTolerance: o.LossTolerance,
		RetirePaths: o.RetirePaths, Rebalance: o.Rebalance, WindowedSpan: o.WindowedSpan, KeepWindow: o.KeepWindow, GrowUsed: o.GrowUsed,
		EarlyRetransmit: o.EarlyRetransmit, MinRTO: simTime(o.MinRTO), InitialRTT: simTime(o.InitialRTT),
		Policy: transport.PathPolicies.Default().Name, Control: transport.CongestionControls.Default().Name,
		FlowletGap: simTime(transport.DefaultFlowletGap),
	}
}

func (m *MP) options() transport.MPOptions {
	o := transport.MPOptions{
		Slots: m.Slots, Delta: m.Delta, Alpha: m.Alpha, ProbeProbability: m.Probe,
		InitialWindow: m.InitialWindow, MaxWindow: m.MaxWindow, MaxWindowBytes: int(m.MaxWindowBytes), Run: m.Run,
		BatchAcks: m.BatchAcks, Selective: m.Selective, LossResponse: m.LossResponse, LossTolerance: m.LossTolerance,
		RetirePaths: m.RetirePaths, Rebalance: m.Rebalance, WindowedSpan: m.WindowedSpan, KeepWindow: m.KeepWindow, GrowUsed: m.GrowUsed,
		EarlyRetransmit: m.EarlyRetransmit, MinRTO: duration(m.MinRTO), InitialRTT: duration(m.InitialRTT),
	}
	if err := o.Choose(m.Policy, m.Control); err != nil {
		panic(err) // the names were checked when the scenario was read
	}
	if m.Policy == policyFlowlet {
		o.Policy = transport.NewFlowlet(duration(m.FlowletGap))
	}
	return o
}

// The transport counts nanoseconds, the simulator picoseconds.

func simTime(d time.Duration) sim.Time { return sim.Time(d) * sim.Nanosecond }

func duration(t sim.Time) time.Duration { return time.Duration(t / sim.Nanosecond) }
