//go:build !amd64

package sim

// prefetchEvents does nothing where there is no machine code for it.
func prefetchEvents([]event) {}
