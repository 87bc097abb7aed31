package topology

// A Preset is a network that a paper or a benchmark has given a name.
type Preset struct {
	Name    string
	About   string
	Builder Builder
}

// Presets lists the named networks.
func Presets() []Preset {
	return []Preset{
		{"testbed", "MP-RDMA figure 10: 10 servers under two ToRs, four 40 Gb/s paths", Testbed()},
		{"mprdma320", "MP-RDMA 5.1.2: 32 leaves of 10 hosts at 40 Gb/s, 4 spines at 100 Gb/s", MPRDMA320()},
		{"mprdma-fig4", "MP-RDMA figure 4: 8 flows share a bottleneck of 10 Gb/s, 100 µs round trip", MPRDMAFigure4()},
		{"mprdma-fig5", "MP-RDMA figure 5: paths of 20, 40, 60 and 80 Gb/s", MPRDMAFigure5()},
		{"ls128", "8 leaves of 16 hosts, 16 spines, 100 Gb/s", LS128()},
		{"ls1024", "32 leaves of 32 hosts, 32 spines, 100 Gb/s", LS1024()},
		{"datapartition1", "Data Partition figure 4: 5 leaves of 4 hosts, 5 spines, 40 Gb/s", DataPartition1()},
		{"datapartition2", "Data Partition figure 5: 5 meshed switches of 4 hosts, 40 Gb/s", DataPartition2()},
		{"datapartition3", "Data Partition figure 6: 8 leaves of 16 hosts, 4 spines, 40 Gb/s", DataPartition3()},
	}
}

// Testbed is figure 10 of MP-RDMA (section 5): ten servers with 40 Gb/s NICs
// under two ToR switches, joined by four switches that form four equal paths.
// Experiments change Rates: 10 Gb/s each for figures 11b and 15, 1 Gb/s on path 4
// for the degraded link of figure 14.
//
// The paper gives a base round trip of 12 µs between the ToRs, measured by an
// RDMA ping, and not where it is spent. Here the eight link crossings of a round
// trip share it evenly, 1.5 µs each, NICs and switches included
// (docs/decisions/testbed-round-trip.md). It does not say how the servers are
// divided; the permutation of section 5.1.2 sends from five under one ToR to five
// under the other.
func Testbed() ParallelPaths {
	return ParallelPaths{
		Senders:        5,
		Receivers:      5,
		HostRate:       40 * Gbps,
		HostDelay:      1500 * Nanosecond,
		Rates:          []int64{40 * Gbps, 40 * Gbps, 40 * Gbps, 40 * Gbps},
		PathDelay:      1500 * Nanosecond,
		MiddleSwitches: true,
	}
}

// MPRDMA320 is the simulated network of MP-RDMA section 5.1.2. The paper gives a
// base round trip of 16 µs, which is 2 µs for each of eight link crossings.
func MPRDMA320() LeafSpine {
	return LeafSpine{
		Leaves:       32,
		HostsPerLeaf: 10,
		Spines:       4,
		HostRate:     40 * Gbps,
		FabricRate:   100 * Gbps,
		HostDelay:    2 * Microsecond,
		FabricDelay:  2 * Microsecond,
	}
}

// MPRDMAFigure4 is the single bottleneck of MP-RDMA section 3.2.1: eight flows of
// 10 Gb/s each share one link of 10 Gb/s, with a round trip of 100 µs. The paper
// does not say how many links the round trip crosses; here the hosts' links take
// 1 µs each way and the bottleneck the rest.
func MPRDMAFigure4() ParallelPaths {
	return ParallelPaths{
		Senders:   8,
		HostRate:  10 * Gbps,
		HostDelay: 1 * Microsecond,
		Rates:     []int64{10 * Gbps},
		PathDelay: 48 * Microsecond,
	}
}

// MPRDMAFigure5 has the four unequal paths of MP-RDMA section 3.2.1, for ten
// connections of 40 Gb/s. The base round trip of 16 µs is divided over the same
// eight link crossings as in the paper's other simulation.
func MPRDMAFigure5() ParallelPaths {
	return ParallelPaths{
		Senders:        10,
		HostRate:       40 * Gbps,
		HostDelay:      2 * Microsecond,
		Rates:          []int64{20 * Gbps, 40 * Gbps, 60 * Gbps, 80 * Gbps},
		PathDelay:      2 * Microsecond,
		MiddleSwitches: true,
	}
}

// LS128 is the benchmark network of 128 hosts: every link 100 Gb/s and 1 µs.
func LS128() LeafSpine { return benchmarkLeafSpine(8, 16, 16) }

// LS1024 is the benchmark network of 1,024 hosts: every link 100 Gb/s and 1 µs.
func LS1024() LeafSpine { return benchmarkLeafSpine(32, 32, 32) }

func benchmarkLeafSpine(leaves, hostsPerLeaf, spines int) LeafSpine {
	return LeafSpine{
		Leaves:       leaves,
		HostsPerLeaf: hostsPerLeaf,
		Spines:       spines,
		HostRate:     100 * Gbps,
		HostDelay:    1 * Microsecond,
		FabricDelay:  1 * Microsecond,
	}
}
