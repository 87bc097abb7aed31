// Package sim is a datacenter in virtual time: hosts that run the very transport
// and verbs objects of the UDP engine, switches and links.
//
// # The flow
//
//	topology.Builder ──> New ──> Network ──> Carry(workload flows) ──> Traffic
//	                               │   └──> Device(i): verbs programs; Go: programs with goroutines
//	                               ├── Impair: faults at scripted times
//	                               └── Run(until) ──> Traffic.Result, Network.Links
//
// A simulation is a function of its configuration and seed. It is a sequence of
// events (event.go), which delay lines and a calendar queue keep in order
// (agenda.go). A packet costs one or two events per link: its arrival at the next
// node (ingress.go), and the end of its transmission (egress.go) if another packet
// waits for the link. Switches (switch.go) choose among equal paths by a hash of
// the five-tuple,
// mark by queue length (marking.go) and stop their neighbours before the buffer
// overflows (PFC). A host (host.go) lets its NIC ask the queue pairs for packets,
// in turn, whenever the link is free.
//
// Simultaneous events happen in an order that does not depend on how many threads
// run the simulation (event.go, parallel.go), nor on how a large network is divided
// (divide.go), so neither does any result.
//
// Payload has only a length unless Config.Verify asks for real bytes, which
// Traffic.Verify compares; Config.Wire also encodes and parses every packet.
package sim
