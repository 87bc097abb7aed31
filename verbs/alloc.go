package verbs

import "unsafe"

// pageSize is the alignment of allocated memory. It is that of the smallest
// page of every system Go runs on; more would only cost memory.
const pageSize = 4096

// allocPages allocates size bytes that begin at a page boundary. They are Go
// memory, not a mapping of their own, so that bytes which the program still
// holds after deregistering stay readable.
func allocPages(size int) ([]byte, error) {
	if err := probeMemory(size + pageSize); err != nil {
		return nil, err
	}
	buf := make([]byte, size+pageSize-1)
	skip := -int(uintptr(unsafe.Pointer(&buf[0]))) & (pageSize - 1)
	return buf[skip : skip+size : skip+size], nil
}
