// Package demo shows the main job of braid in a few seconds: one connection
// over several paths, every kind of operation, a path that fails silently and
// comes back, and a check that nothing was lost on the way.
//
//	requester (Run)                              responder (Respond)
//	call, over a channel (internal/control) ───> region, counter
//	one multi-path queue pair for the operations
//	WRITE the region, ask for its digest ──────> digest
//	READ it back and compare
//	SEND messages ─────────────────────────────> digest of them
//	FETCH_ADD and CMP_SWAP on the counter
//	stream of WRITEs, each with its checksum ══> compares each, WRITEs credit
//	   ... one path is cut ... restored ...
//	digest of the whole region once more
//	Report
//
// The stream is what the demonstration is about. Each chunk carries its number
// and, as immediate data, its checksum; the responder compares every chunk
// before the requester may write over it, so that not one byte of the stream
// goes unchecked. The requester notes each completion, for the longest pause,
// and what each path delivers, for the time that a restored path needs to carry
// its share again.
//
// The package is handed functions that open a device and inject the fault, and
// knows no engine.
package demo
