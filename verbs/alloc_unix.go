//go:build unix

package verbs

import (
	"fmt"
	"syscall"
)

// probeWorthwhile is the size from which asking the system costs little beside
// clearing the memory.
const probeWorthwhile = 1 << 20

// probeMemory asks the system for a mapping of the size and gives it back. Go
// ends the process when an allocation fails; a region that is too large for
// the machine or for the process's limits should be an error instead.
func probeMemory(size int) error {
	if size < probeWorthwhile {
		return nil
	}
	probe, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return fmt.Errorf("%w: %d bytes: %w", ErrNoMemory, size, err)
	}
	return syscall.Munmap(probe)
}
