// Package monitor is the control plane of X-RDMA's XR-Server (§VI) and of RoCE at scale's pingmesh: an agent on each machine
// probes others as the monitor says, and reports; the monitor says whom to probe, and what is at fault.
//
//	agent ── probes (internal/ping) ──> agents of other machines
//	  │
//	  └── windows, every 30 s ──> NATS in the monitor, a JetStream ──> Judge ──> alarms
//	        pinglist <────────── Mesh
//
// Agents work without the monitor: they keep the last pinglist, and what they have seen in the last hour, which the monitor gets when
// it is back. What decides whom to probe (Mesh) and what is wrong (Judge) has no I/O.
package monitor
