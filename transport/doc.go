// Package transport is the queue pair as a pure state machine: the reliable
// connection of the InfiniBand specification (RC), the multi-path connection
// of the MP-RDMA paper (MP) and unreliable datagrams (UD).
//
// It performs no I/O, reads no clock, starts no goroutine and takes no lock.
// Time is an argument, randomness is a seeded source that is handed in, and
// memory is named (region, offset, length) rather than touched. The UDP engine
// and the simulator drive the very same objects.
//
// # The flow
//
//	PostSend ──> send queue ──> PollTransmit ──> engine ──> network
//	PostRecv ──> receive queue                                 │
//	completions <── PollCompletion <── HandlePacket <──────────┘
//
// # What can be exchanged
//
// Research happens at three seams. On an MP connection a PathPolicy chooses the
// path of each packet and a CongestionControl owns the window; on an RC connection
// a RateControl owns the sending rate. MPOptions and RCOptions carry them, and
// PathPolicies, CongestionControls and RateControls list them by name. Each is the
// choice of one end and does not change the wire format; only the way in which RC
// recovers from losses must be the same at both ends.
//
// # What can be seen
//
// Counters say how often something happened. A Tracer in Config is told of each
// packet, loss and window as it happens, and of the Reason why nothing is sent.
//
// # The caller's duties, in order
//
//  1. Tell what happened: HandlePacket for each packet that arrived for this
//     queue pair, HandleTimeout when Timeout has passed. After a HandlePacket
//     that returns Place, copy the payload into the packet's Spans before the
//     next call on any queue pair that shares the memory.
//  2. Say what is wanted: PostSend, PostRecv, Modify.
//  3. Send what PollTransmit yields until it returns false. The spans that it
//     yields name the payload; they stay valid until the next call of
//     HandlePacket, HandleTimeout or Modify on the same queue pair.
//  4. Deliver what PollCompletion and PollEvent yield until they return false.
//     A datagram is complete when it was sent, so its payload must have been taken
//     by then.
//  5. Arm one timer for Timeout.
//
// All calls on one queue pair, and on queue pairs that share a receive queue
// or a memory, come from one thread of control at a time; `now` never runs
// backwards between them.
package transport
