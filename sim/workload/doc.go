// Package workload makes the traffic of the simulator: lists of flows, each
// from one host to another, with a start time, a size and the flows that it
// waits for.
//
// # The flow
//
//	scenario ──> a Generator (Permutation, Incast, AllToAll, RingAllReduce,
//	             TreeAllReduce, Poisson, Background, MiceElephants, Pairs, Trace)
//	         ──> Among places it on some of the hosts, Mix puts several together
//	         ──> Flows(hosts, r): the configuration is checked, flows are drawn
//	         ──> []Flow, in order and numbered ──> the simulator starts them
//
// A generator is a plain struct whose zero fields mean "nothing special". What
// all flows of a generator have in common (start, message size, class, rate,
// priority, share of synchronise messages) stands in its embedded Profile.
//
// # What the simulator may rely on
//
//  1. ID is the index in the list. Flows that wait for nothing come first, by
//     start time; flows that wait follow, each behind all that it waits for.
//     Check tests this and every other promise, for lists made by hand too.
//  2. A flow whose After is empty starts at Start. Any other starts Start after
//     the last flow of After has completed.
//  3. The list is a function of the configuration, the number of hosts and the
//     state of the random source, on every machine: no clock and no map is
//     read, and no result hangs on how a processor rounds a fused
//     multiplication or a logarithm.
//
// Times are int64 picoseconds, rates are bits per second, sizes are bytes of
// payload. A configuration that cannot be met is a *ConfigError, a bad line of
// a trace a *TraceError, a bad flow-size distribution a *DistributionError.
package workload
