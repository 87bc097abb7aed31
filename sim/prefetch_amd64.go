package sim

import "unsafe"

// A large network does not fit the processor's cache: each event waits several
// times for memory, for some hundred instructions each time. But the events of a
// day are known when it begins, so what they need is asked for then, all at once.

// prefetchEvents asks for the actor and the packet of each event.
//
//go:noescape
func prefetchEvents(day []event)

// prefetchLines asks for some cache lines from p on.
//
//go:noescape
func prefetchLines(p unsafe.Pointer, lines int)
