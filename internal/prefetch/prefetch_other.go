//go:build !amd64

package prefetch

import "unsafe"

// Lines asks for some cache lines, at least one, from p on.
func Lines(unsafe.Pointer, int) {}
