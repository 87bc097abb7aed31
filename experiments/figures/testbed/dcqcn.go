package testbed

import (
	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/sim/topology"
)

// ByDCQCN lets the transport "dcqcn" of a scenario carry all flows, with a rate control and the marking and the traffic
// class for notices that it was published with. MP-RDMA's authors used the code and parameters of DCQCN's; HPCC's are of
// use because another simulator's numbers are known for them.
func ByDCQCN(rate string, m sim.Marking, acks bool) func(*scenario.Scenario) {
	return func(s *scenario.Scenario) {
		rc := s.Transports["dcqcn"].RC
		rc.Rate, rc.Window = rate, 16384 // DCQCN limits the rate and nothing else: the window is as large as the transport allows
		delete(s.Transports, "mp")       // all transports of a scenario have the same window
		s.Workload[0].Transport = "dcqcn"
		s.Fabric.ECN = scenario.ECN{Kmin: scenario.Bytes(m.Kmin), Kmax: scenario.Bytes(m.Kmax), Pmax: m.Pmax, Departing: m.Departing, Per: scenario.Rate(m.Per)}
		s.Fabric.Express = scenario.Express{Priority: 7, Acks: acks}
	}
}

// FortyServers makes the network of 320 servers (§5.1.2) smaller.
func FortyServers(s *scenario.Scenario) {
	scenario.Configuration[topology.LeafSpine](&s.Topology).Leaves = 4
}
