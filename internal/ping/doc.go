// Package ping asks RDMA peers for replies, path by path, as X-RDMA's XR-Ping does
// (X-RDMA §VI-B): with datagrams (UD), which tell the network's delay from that of the hosts,
// and with WRITEs over connections (RC and MP), which take the way that a program's data takes.
//
//	Prober                                                  Responder
//	Connect ── REQ "describe" ────────────────────────────> rejects it, and the REJ says: queue pair, key, MTU
//	Peer.Ping, UD:
//	T1 post ── probe, path p (source port p of this end) ─> T3 completion of the receive
//	T2 posted                                               T4 reply is posted, as long as the probe
//	T5 completion of the receive <── reply, path p ───────
//	T6 Ping returns
//	Peer.Ping, RC or MP:
//	T1 post ── WRITE into memory that all probers share ──> no program takes part
//	T5 completion <── acknowledgement ─────────────────────
//
// Then, as R-Pingmesh has it, the responder had T4-T3, the network (T5-T2)-(T4-T3) and the
// prober the rest of T6-T1. A clock is compared with itself only. The stamps are those of
// software: the time that a datagram waits in a socket for a thread to wake counts as the
// network's (docs/ping.md).
//
// Both ends are handed the connection manager of a device, and one device can have both. A Prober
// has one goroutine and one datagram queue pair for all its peers, a Responder one of each for
// all probers; WRITEs need a connection for each peer, and RC one for each path.
//
// # What strangers can do
//
// The responder keeps nothing for who sends datagrams, replies with as many bytes as it was sent,
// to those who know its key (which it tells to proven addresses only), and to each source at a
// bounded rate. A prober takes a reply if it has the random token of a probe that waits, its
// length, and comes from the queue pair that was asked. Connections are bounded in number, for
// each address and for all, and ended when they are idle.
package ping
