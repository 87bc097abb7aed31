// Package cm connects queue pairs as RDMA programs expect it: by IP address and
// port, through the connection manager on queue pair 1, in the messages that
// the InfiniBand specification and the RDMA CM of Linux define.
//
//	client                                          server
//	                                                Listen ── Listener
//	Dial ── REQ (addresses, private data) ────────> Accept, or Next ── Request
//	        queue pair to RTS <──────────── REP ──  Request.Accept: queue pair to RTS
//	Conn <─ RTU ──────────────────────────────────> Conn
//	        traffic, both ways
//	Close ─ DREQ ─────────────────────────────────> Done: queue pair to ERR
//	        <────────────────────────────── DREP ─
//
// Done and Err also tell of a queue pair that failed, and of a peer that has
// died: idle connections ask (verbs.ConnOptions.Keepalive).
//
// # Peers of both kinds
//
// A program that asks for a multi-path queue pair (verbs.MP) gets one if the
// peer is braid and wants it too, and otherwise an RC queue pair. What braid
// peers tell each other beyond the standard, such as the number of paths,
// travels in the last sixteen bytes of the private data (see terms), where a
// standard peer does not look; it never notices.
//
// # Layers
//
// Package mad has the messages, package machine the conversation as a pure
// state machine. Agent drives a machine on a device, without a thread of its
// own, which is what a simulation needs. Manager adds the thread and blocking
// calls, which is what programs want.
//
// # What it does not do
//
// Messages are neither encrypted nor authenticated, like the RoCEv2 packets of
// the connections that they set up: who can read them can forge them. What the
// manager withstands is a flood of forged requests, and peers that do not
// complete what they began (see package machine); docs/decisions has the reasons.
package cm
