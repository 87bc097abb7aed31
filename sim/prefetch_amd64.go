package sim

import "unsafe"

// prefetchLines asks for some cache lines from p on.
//
//go:noescape
func prefetchLines(p unsafe.Pointer, lines int)
