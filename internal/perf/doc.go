// Package perf measures RDMA operations between two processes, with the
// vocabulary of perftest: write, read, send and atomic; bandwidth and latency.
//
//	client                                      server
//	                                            Listen, Serve: one session per client
//	Client.Run(spec) ── call: spec, memory, queue pairs ──> endpoint of the same shape
//	                 <── offer: memory, queue pairs
//	  go ────────────────────────────────────>
//	  drive | rounds  ═══ RDMA operations ═══>  serve | echo (drive, if both send)
//	  done ──────────────────────────────────>
//	                 <── response: done, counters, verdict
//	  Result ── bye ─────────────────────────>  Result
//
// A model of flows (FlowClient) is the same conversation with several servers: it posts
// messages of its own choice on the queue pairs of a bandwidth test, of which the servers
// know nothing. FlowMesh asks several servers for such models towards each other, which they obey if they
// are told to (Orders):
//
//	client                                      each server
//	  call: order ───────────────────────────>  joins its targets, as a client
//	              <── ready
//	  go, to all ────────────────────────────>  flows ═══════> its targets
//	              <── progress, response: flowReport
//
// The client decides everything; the server serves whatever is asked, for any
// number of clients. Package control carries what the two ends say to each
// other, over a channel, and with it the parameters of the queue pairs of the
// test. The package is handed a function that opens a device, and knows no engine.
//
// An address has one queue pair 1, so a server holds the addresses at which it
// serves, and a client on the same machine takes another.
//
// An endpoint has local memory, which its own operations use, and shared
// memory, which the peer's operations reach. So for every operation the
// requester's local memory and the responder's shared memory must be equal in
// the end, and verification is the same for all of them.
package perf
