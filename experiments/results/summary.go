package results

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/sim"
)

// SchemaVersion is that of the JSON form of a Summary. A field that is added does
// not change it; one that is removed or means something else does.
const SchemaVersion = 1

// Summary is what came out of a run.
type Summary struct {
	Schema      int     `json:"schema"`
	Name        string  `json:"name"`
	Seed        uint64  `json:"seed"`
	Complete    bool    `json:"complete"` // false: the run was stopped before its end
	SimulatedUs float64 `json:"simulated_us"`

	Flows      Flows   `json:"flows"`
	Classes    []Group `json:"classes"`
	Transports []Group `json:"transports"`
	Network    Network `json:"network"`
	// Degrees has the out-of-order degrees of packets by transport, if the scenario
	// asks for them.
	Degrees []Degrees `json:"degrees,omitempty"`

	// Cost is what the run took on this machine; nil where only what is the same on
	// every machine is wanted.
	Cost *Cost `json:"cost,omitempty"`
}

// Group is some of the flows, by class or transport.
type Group struct {
	Name string `json:"name"`
	Flows
}

// Flows describes flows.
type Flows struct {
	Total   int `json:"total"`
	Done    int `json:"done"`
	Failed  int `json:"failed"`
	Endless int `json:"endless"` // have no end to reach
	// Unfinished are those that were still on their way, or had not begun, when the
	// run ended. The longest completion times may be theirs, and are not in FCTUs.
	Unfinished int `json:"unfinished"`

	FCTUs    Statistics `json:"fct_us"` // completion times of those done
	Slowdown Statistics `json:"slowdown"`
	Goodput  Goodput    `json:"goodput"`

	Packets       uint64 `json:"packets"`
	Retransmitted uint64 `json:"retransmitted"`
	Timeouts      uint64 `json:"timeouts"`
	Naks          uint64 `json:"naks"`
	CNPs          uint64 `json:"cnps"`
	Marked        uint64 `json:"marked"`
	OutOfOrder    uint64 `json:"out_of_order"`
	MaxOutOfOrder uint64 `json:"max_out_of_order"`
	Duplicates    uint64 `json:"duplicates"`
}

// Goodput describes the payload rates of the flows that have started, in bits per
// second.
type Goodput struct {
	// TotalBps is what they moved together, from the first start to the last end.
	TotalBps float64 `json:"total_bps"`
	// The others are about each flow's rate over its own life. For flows that run
	// one after the other their sum is more than the network ever carried.
	SumBps  float64 `json:"sum_bps"`
	MeanBps float64 `json:"mean_bps"`
	MinBps  float64 `json:"min_bps"`
	Jain    float64 `json:"jain"` // Jain's index of fairness
}

// Network is what the links counted.
type Network struct {
	Hops     uint64  `json:"hops"` // packets over links
	Events   uint64  `json:"events"`
	Marked   uint64  `json:"marked"`
	Dropped  uint64  `json:"dropped"` // for lack of buffer
	Lost     uint64  `json:"lost"`    // to faults
	Damaged  uint64  `json:"damaged"`
	Doubled  uint64  `json:"doubled"`
	Pauses   uint64  `json:"pauses"` // PFC: XOFF frames received
	PausedUs float64 `json:"paused_us"`
	// PeakQueueBytes is the longest queue, and PeakQueue where it was.
	PeakQueueBytes int    `json:"peak_queue_bytes"`
	PeakQueue      string `json:"peak_queue"`
}

// Degrees describes the out-of-order degrees of a transport's packets.
type Degrees struct {
	Transport string `json:"transport"`
	P50       int    `json:"p50"`
	P99       int    `json:"p99"`
	P999      int    `json:"p999"`
	Max       int    `json:"max"`
}

// Cost is what a run took.
type Cost struct {
	WallSeconds   float64 `json:"wall_s"`
	HopsPerSecond float64 `json:"hops_per_s"`
}

// JSON is the summary for programs, indented for people.
func (s *Summary) JSON() []byte {
	out, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic("results: a summary has only numbers and words: " + err.Error())
	}
	return append(out, '\n')
}

// Summarise describes a run as it stands.
func Summarise(run *scenario.Run) Summary {
	return summarise(run, flowResults(run))
}

func flowResults(run *scenario.Run) []sim.FlowResult {
	flows := make([]sim.FlowResult, len(run.Flows))
	for i, f := range run.Flows {
		flows[i] = f.Result()
	}
	return flows
}

func summarise(run *scenario.Run, flows []sim.FlowResult) Summary {
	s := Summary{
		Schema: SchemaVersion, Name: run.Scenario.Name, Seed: run.Scenario.Seed,
		Complete: run.Complete, SimulatedUs: run.Now().Microseconds(),
		Network: summariseNetwork(run),
	}
	all := newTally(run.Now())
	classes, transports := groups{now: run.Now()}, groups{now: run.Now()}
	for i := range flows {
		all.add(&flows[i])
		classes.add(flows[i].Class, &flows[i])
		transports.add(run.Flows[i].Transport, &flows[i])
	}
	s.Flows, s.Classes, s.Transports = all.flows(), classes.list(), transports.list()
	for _, group := range s.Transports {
		if d := run.Degrees[group.Name]; d != nil {
			s.Degrees = append(s.Degrees, Degrees{
				Transport: group.Name, P50: d.Quantile(0.5), P99: d.Quantile(0.99), P999: d.Quantile(0.999),
				Max: max(0, len(d.Counts())-1),
			})
		}
	}
	if seconds := run.Wall.Seconds(); seconds > 0 {
		s.Cost = &Cost{WallSeconds: seconds, HopsPerSecond: float64(s.Network.Hops) / seconds}
	}
	return s
}

func summariseNetwork(run *scenario.Run) Network {
	n := Network{Hops: run.Net.Hops(), Events: run.Net.Events()}
	var paused sim.Time
	for _, l := range run.Net.Links() {
		n.Marked += l.Marked
		n.Dropped += l.Dropped
		n.Lost += l.Lost
		n.Damaged += l.Damaged
		n.Doubled += l.Doubled
		n.Pauses += l.Pauses
		paused += l.Paused
		if l.PeakQueue > n.PeakQueueBytes {
			n.PeakQueueBytes, n.PeakQueue = l.PeakQueue, l.Name
		}
	}
	n.PausedUs = paused.Microseconds()
	return n
}

// groups tallies flows apart by name.
type groups struct {
	now    sim.Time
	byName map[string]*tally
}

func (g *groups) add(name string, r *sim.FlowResult) {
	if g.byName == nil {
		g.byName = map[string]*tally{}
	}
	if g.byName[name] == nil {
		g.byName[name] = newTally(g.now)
	}
	g.byName[name].add(r)
}

// list has the groups in the order of their names.
func (g *groups) list() []Group {
	list := []Group{}
	for _, name := range slices.Sorted(maps.Keys(g.byName)) {
		list = append(list, Group{name, g.byName[name].flows()})
	}
	return list
}
