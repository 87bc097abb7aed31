// Package ibverbs is the engine on libibverbs: real RNICs, and the Linux kernel's
// software RoCE (rdma_rxe), through the same API as every other engine.
//
//	verbs.QP.PostSend ─> qp.PostSend ─> ibv_post_send ─> the NIC, which does the rest
//	verbs.CQ.Poll ─> engine.round ─> ibv_poll_cq ─> workQueue: whose request was it? ─> Sink
//	verbs.PD.RegisterMemory ─> engine.Register ─> runtime.Pinner, ibv_reg_mr
//
// It needs the build tag ibverbs, cgo and the headers of libibverbs (Debian:
// libibverbs-dev). Without the tag the package has the same API, and Open says what
// is missing.
//
// # What the engine adds to the NIC
//
// Queue pairs, packets, retransmission and memory protection are the NIC's. The
// engine makes good what verbs promises beyond libibverbs: a failed completion says
// which operation it was; unsignalled requests leave the queue by themselves; whatever
// is outstanding when a queue pair is closed completes as flushed; a queue pair that
// fails raises an event; idle peers are asked whether they live. Queue pair 1, which
// the kernel keeps for itself, is a UDP socket, so that package cm works.
//
// # Memory
//
// The NIC reads and writes registered memory where it is. Memory of the Go heap is
// pinned with a runtime.Pinner until it is deregistered, as the rules of cgo demand of
// memory that is used after a call; memory that the program has mapped itself stays
// mapped as long as it is registered, by the program's care. A work request has
// addresses and keys, no pointers, and is built in memory of C.
//
// # Who waits
//
// Programs that poll run the NIC's completion queues in their own thread, and those that
// wait do so for Config.Spin first. Then the NIC is asked for an event, a goroutine that
// the runtime's poller wakes takes it, and the waiting threads look again. While
// somebody polls no event is asked for.
//
// docs/ibverbs.md has what differs from the other engines and what is not there.
package ibverbs
