//go:build unix && !race

package pages

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Guarded says whether mappings have guard pages and are gone after Unmap.
const Guarded = true

// Map maps size bytes, which are zero. The system gives them when they are first used.
func Map(size int) (Mapping, error) {
	page := os.Getpagesize()
	length := (size + page - 1) &^ (page - 1)
	whole, err := unix.Mmap(-1, 0, length+2*page, unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return Mapping{}, fmt.Errorf("map %d bytes: %w", size, err)
	}
	if err := unix.Mprotect(whole[page:page+length], unix.PROT_READ|unix.PROT_WRITE); err != nil {
		_ = unix.Munmap(whole)
		return Mapping{}, fmt.Errorf("map %d bytes: %w", size, err)
	}
	return Mapping{Bytes: whole[page : page+size : page+size], whole: whole}, nil
}

// Unmap ends the mapping, once nobody uses it. Unmapping twice is allowed.
func (m *Mapping) Unmap() {
	if m.whole != nil {
		_ = unix.Munmap(m.whole) // it fails only for memory that was not mapped
	}
	*m = Mapping{}
}
