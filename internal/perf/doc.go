// Package perf measures RDMA operations between two processes, with the
// vocabulary of perftest: write, read, send and atomic; bandwidth and latency.
//
//	client                                     server
//	Client.Run(spec) ── spec, parameters ────> Serve: one session per client
//	  endpoint       <── parameters ─────────    endpoint of the same shape
//	  go ─────────────────────────────────────>
//	  drive | rounds  ═══ RDMA operations ═══>   serve | echo (drive, if both send)
//	  done ───────────────────────────────────>
//	                 <── done, counters, verdict
//	  Result ── bye ──────────────────────────>  Result
//
// The client decides everything; the server serves whatever is asked, for any
// number of clients. Package oob connects the queue pairs, package control
// carries what the two ends say to each other; everything measured travels
// over the queue pairs. The package is handed a function that opens a device,
// and knows no engine.
//
// An endpoint has local memory, which its own operations use, and shared
// memory, which the peer's operations reach. So for every operation the
// requester's local memory and the responder's shared memory must be equal in
// the end, and verification is the same for all of them.
package perf
