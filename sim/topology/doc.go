// Package topology describes the networks that the simulator runs: who is
// linked to whom, how fast and how far, and which ports lead to which host.
//
// # The flow
//
//	LeafSpine, FatTree, ParallelPaths, Mesh ──Build──┐
//	presets (Testbed, MPRDMA320, LS128, ...) ────────┤
//	AddHost, AddSwitch, AddLink by hand ─────────────┴─> Graph ──Check──> nil, or what is wrong where
//	                                                       ├──Ports───> the ports of each node
//	                                                       ├──Routes──> node, host ─> equal-cost output ports
//	                                                       └──Dot─────> a picture by Graphviz
//
// A switch that forwards a packet does three things, none of which allocates:
//
//	ports := table.Ports(host)                       // Routes.At(node), once per switch
//	h := topology.Hash(seed, src, dst, sport, dport) // seed = SwitchSeed(run, node)
//	out := ports[topology.Pick(h, len(ports))]
//
// # Numbers
//
// A node's number is its index in Graph.Nodes, a host's number its index in
// Graph.Hosts; the builders number hosts first, so there the two agree. The
// ports of a node are numbered in the order of its links. Rates are bits per
// second, delays picoseconds one way; Gbps and Microsecond help to write them.
//
// # Routing
//
// Routes are shortest paths by the number of links, all of them, since that is
// what a datacenter's routing protocol computes. Rate and delay of a link have
// no influence, and hosts never forward. Nothing in this package reads a clock
// or a random source: a graph and its routes are a function of the
// configuration, byte for byte.
package topology
