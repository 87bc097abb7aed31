package topology_test

import (
	"fmt"
	"strings"

	"github.com/braid-rdma/braid/sim/topology"
)

// Build the testbed of the MP-RDMA paper with a degraded fourth path, and follow
// a packet of each source port through it.
func Example() {
	config := topology.Testbed()
	config.Rates[3] = 1 * topology.Gbps
	g, err := config.Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	routes := g.Routes()
	fmt.Println(routes.CountPaths(0, 5), "paths")
	for sport := range uint16(4) {
		path := routes.Path(0, 5, func(node int) uint32 {
			return topology.Hash(topology.SwitchSeed(1, node), 0, 5, sport, 4791)
		})
		var names []string
		for _, step := range path {
			names = append(names, g.Links[step.Link].Name)
		}
		fmt.Println(strings.Join(names, ", "))
	}
	// Output:
	// 4 paths
	// h0-tor0, tor0-path1, path1-tor1, h5-tor1
	// h0-tor0, tor0-path4, path4-tor1, h5-tor1
	// h0-tor0, tor0-path1, path1-tor1, h5-tor1
	// h0-tor0, tor0-path4, path4-tor1, h5-tor1
}
