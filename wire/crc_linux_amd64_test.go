package wire

import (
	"hash/crc32"
	"testing"

	"golang.org/x/sys/unix"
)

// TestCRCReadsOnlyItsBytes puts the bytes at either end of a page whose
// neighbours must not be touched.
func TestCRCReadsOnlyItsBytes(t *testing.T) {
	page := unix.Getpagesize()
	memory, err := unix.Mmap(-1, 0, 3*page, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Munmap(memory); err != nil {
			t.Error(err)
		}
	}()
	middle := memory[page : 2*page]
	if err := unix.Mprotect(middle, unix.PROT_READ|unix.PROT_WRITE); err != nil {
		t.Fatal(err)
	}
	for i := range middle {
		middle[i] = byte(i * 31)
	}
	for n := range 600 {
		for _, b := range [][]byte{middle[:n], middle[page-n:]} {
			if got, want := crcLong(7, b, 0), crc32.Update(7, crc32.IEEETable, b); got != want {
				t.Fatalf("%d bytes: %08x, want %08x", n, got, want)
			}
		}
	}
}
