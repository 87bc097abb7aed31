// Package traffic sends data through a lab and records how it arrives: with
// braid's queue pairs, and beside them with the kernel's TCP and MPTCP.
//
// # The flow
//
//	Runner.Start ──> a receiver and a sender: two processes in two hosts (Agent)
//	             ──> they greet through their pipes, so no fault can hold that up
//	             ──> the sender sends messages as fast as it may
//	             ──> the receiver checks each of them and reports what came when
//	Flow.Stop ──> Result: the Record of arrivals, processor time, what went wrong
//
// All kinds of traffic do the same work: messages of the same size, a number and
// a pattern in each, of which the receiver checks order and checksum. Goodput and
// stalls are what the receiving program sees, so data that waits behind a hole
// does not count before the hole is filled.
//
// Times are of the monotonic clock, which all processes of a machine share.
package traffic
