package topology

// The three networks of "Data Partition" (section IV). Rate and delay, 40 Gb/s
// and 1 µs, are given for the first and said to be the same in the second; the
// third is said to differ from the first in size only. The paper leaves open
// whether the links between switches are as fast as those of the terminals; one
// rate is given, so all links have it. Hosts have the paper's numbers: terminal
// 0 sends to terminal 19.

// DataPartition1 is figure 4: 20 terminals and 10 switches. Each switch of the
// second layer has four terminals and a link to every switch of the first layer,
// which makes it five switches in each layer and five paths.
func DataPartition1() LeafSpine { return dataPartitionLeafSpine(5, 4, 5) }

// DataPartition3 is figure 6: 128 terminals and 12 switches. Each switch of the
// second layer has 16 terminals, which makes it eight, below four of the first
// layer.
func DataPartition3() LeafSpine { return dataPartitionLeafSpine(8, 16, 4) }

func dataPartitionLeafSpine(leaves, hostsPerLeaf, spines int) LeafSpine {
	return LeafSpine{
		Leaves:       leaves,
		HostsPerLeaf: hostsPerLeaf,
		Spines:       spines,
		HostRate:     40 * Gbps,
		HostDelay:    1 * Microsecond,
		FabricDelay:  1 * Microsecond,
	}
}

// DataPartition2 is figure 5: 20 terminals and five switches, each with terminals
// and with direct links to other switches.
//
// The text does not say which links exist. A full mesh is the first reading, but
// then the direct link is the only shortest path from terminal 0 to terminal 19
// and nothing is left to balance, while the paper reports that several paths
// help, and that paths did not become shorter than in the first network. Both
// hold when the switches of sender and receiver have no direct link: the paths
// are as long as in the first network, there are three of them, and they share
// their links with the terminals of the switches in between, which is the
// contention that the paper mentions. That is the choice here; four terminals
// to a switch is the even division. Clearing Without gives the full mesh.
func DataPartition2() Mesh {
	return Mesh{
		Switches:       5,
		HostsPerSwitch: 4,
		HostRate:       40 * Gbps,
		HostDelay:      1 * Microsecond,
		FabricDelay:    1 * Microsecond,
		Without:        [][2]int{{0, 4}},
	}
}
