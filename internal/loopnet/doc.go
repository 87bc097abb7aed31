// Package loopnet is a network in memory: devices of one process, connected by
// a pipe that neither loses nor reorders, unless a filter is set that drops
// packets. It lets everything above the engines be tested without sockets or
// privileges.
//
//	verbs ──> Engine (Unlock: transmit) ──> inbox of the peer's Engine
//	verbs <── Engine (round: receive) <── runs in the thread that polls or
//	                                      waits, or in the engine's goroutine
//
// It uses goroutines, channels and package time only, so it also runs in the
// virtual time of testing/synctest.
package loopnet
