// Package machine is the connection manager as a pure state machine: all
// connections of a device, and the conversation with their peers.
//
// It performs no I/O, reads no clock, starts no goroutine and takes no lock.
// Time is an argument and randomness is handed in, so that a conversation under
// loss, duplication and reordering is a function of its seed.
//
// # The flow
//
//	active side                                      passive side
//	Connect ──────────────── REQ ──────────────────> Requested
//	                          <────── MRA ──────────  (the program takes its time)
//	Replied  <─────────────── REP ─────────────────  Accept, or Reject: REJ
//	Ready, or Reject ──────── RTU ──────────────────> Established
//	                  (MRA: the RTU has arrived; only where both sides want that)
//	Disconnect ────────────── DREQ ─────────────────> Disconnected
//	Closed   <─────────────── DREP ─────────────────
//
// Either side disconnects, also both at once. Then a connection stays in time
// wait, so that what is still on its way finds somebody who knows it.
//
// # The caller's duties, in order
//
//  1. Tell what happened: Handle for each datagram that arrived on queue pair
//     1, HandleTimeout when Timeout has passed.
//  2. Say what is wanted: Listen, Connect, Accept, Ready, Reject, Disconnect.
//  3. Send what PollSend yields until it returns false.
//  4. Act on what PollEvent yields until it returns false.
//  5. Arm one timer for Timeout.
//
// All calls come from one thread of control at a time; now never runs
// backwards between them.
//
// # What strangers can do
//
// A REQ can be forged: anybody can send it in the name of any address. Its
// sender proves the address by a cookie (braid peers) or by naming the random
// identifier that only the REP tells (all peers, in the RTU). Until then
//
//   - the request has one of a few places, of which an address gets a share;
//     when all are taken a braid peer is sent a cookie, and a standard one a
//     probe, or the place of the oldest request that has had its time;
//   - it is sent at most three times the bytes that were received;
//   - no other connection ends because of it.
//
// A service may ask for a cookie of everybody (ListenProven): then it learns of no
// request before. Who has had a connection has a ticket, and needs no cookie.
//
// Proven requests have more places, likewise shared among addresses. Messages
// other than REQ count only if the address, both identifiers and, in a DREQ, the
// queue pair are those of the connection.
package machine
