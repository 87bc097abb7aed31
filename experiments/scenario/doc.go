// Package scenario describes simulations in YAML and runs them.
//
// # The flow
//
//	scenario.yaml ──Load, Parse──> every field is decoded by the types (decode.go)
//	              ──> names, ranges and what belongs together are checked (check.go):
//	                  the graph is built, the flows are drawn
//	              ──> Scenario, or Errors with line, field and what was expected
//	Set("transports.mp.delta=16") ──> the same again with the override in place
//	Start ──> sim.Network with faults and markings, flows on their transports ──> Run
//	Go    ──> slices of virtual time, samples, progress ──> package results
//
// # A scenario
//
//	name: three of four paths lossy
//	seed: 1
//	duration: 20ms                 # the run ends earlier when every flow has ended
//	topology: {kind: testbed}      # a preset, or leaf-spine, fat-tree, parallel-paths, mesh, graph
//	fabric:
//	  mtu: 1024
//	  ecn: {kmin: 20KB, kmax: 20KB}
//	  pfc: true
//	transports:
//	  mp: {kind: mp, preset: paper}
//	  dcqcn: {kind: rc, rate: dcqcn, dcqcn: {gain: 0.01}}
//	workload:
//	  - {kind: pairs, pairs: [[0, 5]], transport: mp}
//	faults:
//	  - {at: 1ms, link: [tor0-path1, tor0-path2], loss: 0.005}
//	receivers:                     # hosts that are slow to receive
//	  - {host: 5, at: 2ms, until: 4ms, rate: 10Gbps}
//	measure: {sample: 100us, flows: [0], queues: [tor0-path1]}
//
// Sizes are written as 9MB, 32KiB or 1000, rates as 40Gbps, times as 2us. The
// fields of a topology or workload are those of the Go structs of sim/topology and
// sim/workload, in kebab-case. docs/SCENARIOS.md, which a test makes of the types, has
// all of them; Scenario.Fields lists those of a scenario with their values.
//
// # What a run depends on
//
// A run is a function of the scenario and its seed: flows, series and the instant
// at which it ends are the same on every machine and with any number of workers.
// Only Run.Wall and Progress tell of the machine.
package scenario
