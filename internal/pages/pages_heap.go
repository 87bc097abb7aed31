//go:build !unix || race

package pages

import (
	"os"
	"unsafe"
)

// Guarded says whether mappings have guard pages and are gone after Unmap.
const Guarded = false

// Map allocates size bytes, which are zero.
func Map(size int) (Mapping, error) {
	page := os.Getpagesize()
	whole := make([]byte, size+page-1)
	skip := -int(uintptr(unsafe.Pointer(&whole[0]))) & (page - 1)
	return Mapping{Bytes: whole[skip : skip+size : skip+size], whole: whole}, nil
}

// Unmap forgets the memory.
func (m *Mapping) Unmap() { *m = Mapping{} }
