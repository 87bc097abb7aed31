// Package ping asks RDMA peers for replies, path by path, as X-RDMA's XR-Ping does
// (X-RDMA §VI-B): with datagrams (UD), which tell the network's delay from that of the hosts,
// and with WRITEs over connections (RC and MP), which take the way that a program's data takes.
//
//	Prober                                                  Responder
//	Connect ── REQ "describe" ────────────────────────────> rejects it, and the REJ says: queue pair, key, MTU
//	Peer.Ping, UD:
//	T1 Ping begins
//	T2 sent ── probe, path p (source port p of this end) ─> T3 arrived
//	                                                        T4 reply is posted, as long as the probe
//	T5 arrived <── reply, path p ──────────────────────────
//	T6 Ping returns
//	Peer.Ping, RC or MP:
//	T2 post ── WRITE into memory that all probers share ──> no program takes part
//	T5 arrived <── acknowledgement ────────────────────────
//
// Then, as R-Pingmesh has it, the responder had T4-T3, the network (T5-T2)-(T4-T3) and the
// prober the rest of T6-T1. A clock is compared with itself only. Sent is when the kernel was given
// a datagram, and arrived when it had it, before any thread was woken (verbs.CQ.StampArrivals), so that
// a busy host does not look like a slow network (docs/ping.md).
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
