package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/sim/topology"
	"github.com/braid-rdma/braid/sim/workload"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// The scenarios, by the names that they have among those who measure simulators.
const (
	scenarioLS128  = "LS128"
	scenarioLS1024 = "LS1024"
	scenarioWS320  = "WS320"
	scenario8192   = "LS8192"
)

// simSeed is the seed of every scenario: all rounds do the same work, and must
// come to the same result.
const simSeed = 1

const (
	permutationBytes = 2_000_000
	webSearchFlows   = 2418 // as many as the published run had, at 50 % load some 5 ms of arrivals
	webSearchLoad    = 0.5
	webSearchRate    = 40 * topology.Gbps

	// linkFraming is what the simulator's links carry of a packet beside its
	// transport headers. A NIC's rate, as HPCC's simulator has it, includes it.
	linkFraming = 66
)

// A simScenario is a simulation that is measured: a network, its traffic, and
// how far it runs.
type simScenario struct {
	name    string
	network topology.Builder
	config  sim.Config
	traffic workload.Generator
	carrier sim.Carrier
	end     sim.Time
	cutOff  bool // the run ends before the flows do
}

// findScenario returns the scenario of a name.
func findScenario(name string) (simScenario, error) {
	switch name {
	case scenarioLS128:
		return permutation(name, topology.LS128()), nil
	case scenarioLS1024:
		return permutation(name, topology.LS1024()), nil
	case scenario8192:
		s := permutation(name, topology.LeafSpine{
			Leaves: 256, HostsPerLeaf: 32, Spines: 64, HostRate: 100 * topology.Gbps,
			HostDelay: topology.Microsecond, FabricDelay: topology.Microsecond,
		})
		s.end, s.cutOff = 100*sim.Microsecond, true
		return s, nil
	case scenarioWS320:
		return webSearch(), nil
	}
	return simScenario{}, fmt.Errorf("there is no scenario %q", name)
}

// permutation is one flow from each host to another, all from time 0, over
// multi-path connections as the paper has them.
func permutation(name string, network topology.LeafSpine) simScenario {
	marking := sim.MarkingHPCC()
	marking.Departing = false // as MP-RDMA's window was measured here so far
	return simScenario{
		name:    name,
		network: network,
		config:  sim.Config{Seed: simSeed, MTU: 4096, Switch: sim.SwitchConfig{Marking: marking, PFC: sim.PFC{On: true}}},
		traffic: workload.Permutation{Bytes: permutationBytes},
		carrier: sim.Carrier{QP: verbs.QPOptions{Type: verbs.MP, MP: verbs.PaperOptions()}},
		end:     100 * sim.Millisecond,
	}
}

// webSearch is MP-RDMA's network of 320 servers (§5.1.2) under short and long
// flows, over RC with DCQCN. HPCC's simulator sends 1000 B a packet; an MTU is a
// power of two, so here it is 1024. Its DCQCN has no window: ours is the largest.
func webSearch() simScenario {
	rc := transport.DCQCNHPCC(float64(webSearchRate)).Options()
	rc.Overhead = linkFraming
	return simScenario{
		name:    scenarioWS320,
		network: topology.MPRDMA320(),
		config: sim.Config{
			Seed: simSeed, MTU: 1024, Window: transport.MaxTrackingSlots,
			Express: sim.Express{Priority: 7, Acks: true},
			Switch:  sim.SwitchConfig{Marking: sim.MarkingHPCC(), PFC: sim.PFC{On: true}},
		},
		traffic: workload.Poisson{
			Sizes: workload.WebSearch(), Load: webSearchLoad, LinkRate: webSearchRate, Count: webSearchFlows,
		},
		carrier: sim.Carrier{QP: verbs.QPOptions{Type: verbs.RC, RC: rc}},
		end:     sim.Second,
	}
}

// build makes the network and sets up its traffic, for so many workers.
func (s simScenario) build(workers int) (*sim.Network, *sim.Traffic, error) {
	graph, err := s.network.Build()
	if err != nil {
		return nil, nil, err
	}
	s.config.Workers = workers
	network, err := sim.New(graph, s.config)
	if err != nil {
		return nil, nil, err
	}
	flows, err := s.traffic.Flows(network.Hosts(), rand.New(rand.NewPCG(simSeed, 2)))
	if err != nil {
		return nil, nil, err
	}
	traffic, err := network.Carry(flows, s.carrier)
	return network, traffic, err
}
