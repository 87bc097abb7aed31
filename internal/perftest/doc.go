// Package perftest implements the exchange by which the programs of perftest
// (ib_write_bw and its siblings) find each other: a conversation over TCP in
// which each message of the client is followed by one of the server.
//
//	Open      version, buffer and cache line sizes, path MTU
//	SwapKeys  a queue pair and its memory; also how the programs synchronise
//	SwapReport  what a bandwidth test came to
//	Close     the last keys, and a farewell
//
// Which test is run, with what size and how often, is not said: the user starts
// both ends with the same options. A server that only replies (NextRequest,
// ReplyKeys, ReplyReport) need not know them.
//
// The format is that of perftest 4.5 ("6.06"), as Debian 12 has it. Numbers
// travel in network order and keys as text.
package perftest
