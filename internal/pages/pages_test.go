package pages

import (
	"errors"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"testing"
	"unsafe"
)

func TestMap(t *testing.T) {
	for _, size := range []int{1, 4096, 4097, 4 << 20} {
		m, err := Map(size)
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Bytes) != size || cap(m.Bytes) != size {
			t.Errorf("%d bytes of %d, want %d", len(m.Bytes), cap(m.Bytes), size)
		}
		if at := uintptr(unsafe.Pointer(&m.Bytes[0])); at%uintptr(os.Getpagesize()) != 0 {
			t.Errorf("%d bytes at %#x, no page boundary", size, at)
		}
		for i := range m.Bytes {
			if m.Bytes[i] != 0 {
				t.Fatalf("byte %d of %d is %d", i, size, m.Bytes[i])
			}
			m.Bytes[i] = 1
		}
		m.Unmap()
		m.Unmap()
	}
}

func TestMapTooMuch(t *testing.T) {
	if !Guarded {
		t.Skip("Go ends a process that has no memory")
	}
	if _, err := Map(math.MaxInt - 1<<20); err == nil {
		t.Error("more than the address space was mapped")
	}
}

// Each access outside faults, and at the address that was used.
func TestGuards(t *testing.T) {
	if !Guarded {
		t.Skip("no guard pages in this build")
	}
	page := os.Getpagesize()
	m, err := Map(3 * page)
	if err != nil {
		t.Fatal(err)
	}
	base := unsafe.Pointer(&m.Bytes[0])
	for name, offset := range map[string]int{"before": -1, "behind": 3 * page, "first of the guard": -page, "last of the guard": 4*page - 1} {
		at := unsafe.Add(base, offset)
		if got, ok := faultAt(func() { *(*byte)(at) = 1 }); !ok || got != uintptr(at) {
			t.Errorf("write %s: fault %v at %#x, want %p", name, ok, got, at)
		}
	}
	m.Unmap()
	if _, ok := faultAt(func() { runtime.KeepAlive(*(*byte)(base)) }); !ok {
		t.Error("unmapped memory can be read")
	}
}

// faultAt runs f and returns the address at which it faults.
func faultAt(f func()) (at uintptr, faulted bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		var fault interface{ Addr() uintptr }
		if err, ok := recover().(error); ok && errors.As(err, &fault) {
			at, faulted = fault.Addr(), true
		}
	}()
	f()
	return 0, false
}
