// Package testbed is what the figures from the MP-RDMA paper's testbed (figure
// 10: ten servers, two ToR switches, four paths) have in common.
//
//	Start(scenario, overrides) ──> Rig
//	Rig.Until(ctx, instant)    ──> the simulation happens
//	Rig.Goodputs, Rig.Paths    ──> rates over a stretch of virtual time
//	Account.Enter(outcome)     ──> what all of it cost
//
// Rates are in Gb/s, the unit of the paper. A goodput counts payload only, the
// rate of a path counts everything that is on the wire.
package testbed
