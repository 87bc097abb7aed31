// Package lab builds a leaf-spine network of Linux network namespaces on one
// machine, with the kernel's own routing between them, and breaks it on request.
//
// # The flow
//
//	Options ──> Plan: nodes, links, addresses, routes        plain data, the same everywhere
//	Plan ──> Up: namespaces, veth pairs, ECMP routes, shaped ports
//	Open ──> Network ──> Cut, Restore, SetLoss, SetRate, SetThreshold; Counters
//	                 ──> Start: a program in one of the hosts
//	Down ──> every namespace of the lab is gone, and all that was in them
//
// # The network
//
// Every host hangs on a leaf, every leaf on every spine. Leaves spread flows over
// the spines by the hash of addresses and ports (the kernel's ECMP, hash policy
// 1), so a path is a spine, and which path a packet takes is the kernel's choice,
// as it is a switch's in a real network. Each host also has one address per spine
// which the leaves route over that spine alone: flows that are to be pinned to a
// path use them, and so does MPTCP, which wants an address for each subflow.
//
// # What shapes a path
//
// A token bucket (tc tbf) on each port from a leaf to a spine gives the path its
// rate and its queue: there is no other delay in the lab than that of the queues.
// Beside it a small eBPF program keeps the same bucket's account and marks ECN
// from a threshold on, as a switch with a single threshold does; the token bucket
// itself cannot mark. A second copy of the program where packets enter a spine
// loses them: some at random, or all.
//
// # What is left behind
//
// Nothing: a lab is its namespaces, whose names all begin with the lab's name,
// and its description is kept inside one of them. Down works from the names
// alone, so it also clears away what a killed process left half built.
//
// Everything goes through netlink and bpf(2): no ip, tc or nft command has to be
// installed. It needs root, or CAP_SYS_ADMIN, CAP_NET_ADMIN and CAP_BPF.
package lab
