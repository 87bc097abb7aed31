package prefetch

import "unsafe"

// Lines asks for some cache lines, at least one, from p on.
//
//go:noescape
func Lines(p unsafe.Pointer, lines int)
