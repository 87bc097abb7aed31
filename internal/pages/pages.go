// Package pages maps memory outside of the Go heap, between two pages that nobody may touch:
//
//	guard | Bytes | guard
//
// Whoever runs over an end faults there, at the instruction that did it, instead of changing what
// belongs to others (X-RDMA §VI-C, memory cache isolation).
//
// The memory is not the garbage collector's: it lives until Unmap, and a slice of it that is used later faults as
// well. Where the system cannot do this, and under the race detector, which only knows Go memory, it is an
// ordinary allocation without guards; Guarded tells.
package pages

// Mapping is mapped memory.
type Mapping struct {
	// Bytes begins at a page boundary.
	Bytes []byte
	whole []byte // with the guards
}
