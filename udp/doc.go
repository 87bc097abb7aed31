// Package udp is the engine that moves RoCEv2 packets over Linux sockets, on
// any NIC, without privilege.
//
// # The way of a packet
//
//	post ─> transport.PollTransmit ─> encode ─> txBatch ─> UDP_SEGMENT ─> one source port per path
//	UDP port 4791 ─> UDP_GRO ─> rxSocket ─> decode, ICRC ─> transport.HandlePacket ─> copy to the region
//	                                                              └─> completions ─> verbs.CQ
//
// Every packet goes to port 4791 of the peer; its source port stands for its path.
// Payload is never copied on the way out (the kernel gathers it from the
// region) and once on the way in.
//
// # Who runs the loop
//
// There is no hand-over between threads on the hot path. A thread that posts
// transmits what the post produced; a thread that polls a completion queue
// receives and handles packets itself. A background thread does the work when
// nobody polls, and steps aside while somebody does: a poll grants its caller a
// short lease. Who waits spins or sleeps, by what it has learned.
//
// # Detours
//
// The packets of a queue pair may leave by a way that the program has, and come back by it (verbs.Detour):
// they are the same packets, and the engine checks them as if a socket had brought them.
//
// # Addresses
//
// A device has a receiving socket, and one for queue pair 1, at each of its local addresses: the one that
// Config names, or else a loopback address of its own and those of the host that
// its connections and listeners need. What it sends carries the address at which
// the peer knows it, since the peer drops anything else and the ICRC covers it.
//
// Devices of one user, in one process or in many, share addresses (group): each has a socket of its own there,
// and the kernel chooses by the queue pair. One of them reads what is for queue pair 1 and hands over what is for
// others; another does when it is gone.
//
// # Limits of what a socket shows
//
// A UDP socket does not show the IP identification that the ICRC of a standard
// packet covers. The engine sends identifications that it can predict, and
// accepts those that a braid peer sends; Config.AnyIPID accepts all, as
// standard peers need. Multi-path packets mask the field.
package udp
