//go:build !amd64

package sim

import "unsafe"

// prefetchEvents and prefetchLines do nothing where there is no machine code for them.
func prefetchEvents([]event)            {}
func prefetchLines(unsafe.Pointer, int) {}
