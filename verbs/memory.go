package verbs

import (
	"math"
	"sync/atomic"
	"unsafe"

	"github.com/braid-rdma/braid/transport"
)

// memoryTable is the registered memory of a device, by key. It is read with the lock of a loop held, and changed
// with those of all.
type memoryTable struct {
	regions map[LKey]*MR // by local key; every registered region
	remote  map[RKey]*MR // by remote key; also those that are invalidated
	bytes   uint64
	views   []*memoryView
}

// memoryView is the table as a loop sees it. It is what the transport asks before a byte moves.
type memoryView struct {
	table *memoryTable
	// recent is what recentKey led to last: a stream of packets names one key. Who
	// changes the table forgets it.
	recent    *MR
	recentKey RKey
}

var _ transport.Memory = (*memoryView)(nil)

func newMemoryTable() memoryTable {
	return memoryTable{regions: make(map[LKey]*MR), remote: make(map[RKey]*MR)}
}

// nothing backs the spans of length zero, which no key is asked for.
var nothing = transport.Region{Bytes: []byte{}}

// Resolve implements transport.Memory.
func (v *memoryView) Resolve(pd transport.PD, rkey RKey, va uint64, length uint32, want Access) (transport.Span, bool) {
	if length == 0 {
		// The specification has the key of a request of no bytes not checked.
		return transport.Span{Region: &nothing}, true
	}
	m := v.recent
	if m == nil || v.recentKey != rkey {
		m = v.table.remote[rkey]
		v.recent, v.recentKey = m, rkey
	}
	if m == nil || m.revoked.Load() {
		return transport.Span{}, false
	}
	r := m.region
	if r.PD != pd || r.Access&want != want {
		return transport.Span{}, false
	}
	// Written without a sum that could overflow: va+length may pass 2^64.
	if va < r.Base {
		return transport.Span{}, false
	}
	offset := va - r.Base
	if offset > r.Length || uint64(length) > r.Length-offset {
		return transport.Span{}, false
	}
	return transport.Span{Region: r, Offset: offset, Length: length}, true
}

// drop makes a remote key unknown.
func (t *memoryTable) drop(rkey RKey) {
	delete(t.remote, rkey)
	for _, v := range t.views {
		v.recent = nil
	}
}

// Atomic implements transport.Memory. The bytes are a number in the order of
// the host, as RNICs have it, so the program sees with sync/atomic what peers do.
func (v *memoryView) Atomic(s transport.Span, op transport.AtomicOp, a, b uint64) uint64 {
	p := word(s)
	if p == nil {
		return 0
	}
	if op == transport.FetchAdd {
		return atomic.AddUint64(p, a) - a
	}
	for {
		old := atomic.LoadUint64(p)
		if old != a || atomic.CompareAndSwapUint64(p, a, b) {
			return old
		}
	}
}

// Store implements transport.Memory.
func (v *memoryView) Store(s transport.Span, value uint64) {
	if b := s.Bytes(); len(b) == 8 {
		*(*[8]byte)(b) = *(*[8]byte)(unsafe.Pointer(&value))
	}
}

// Invalidate implements transport.Memory. It has the lock of its loop only, so the key stays in the table, marked.
func (v *memoryView) Invalidate(pd transport.PD, rkey RKey) bool {
	m := v.table.remote[rkey]
	if m == nil || m.region.PD != pd || m.region.Access&RemoteInvalidate == 0 {
		return false
	}
	return m.revoked.CompareAndSwap(false, true)
}

// word is the span as a number that sync/atomic can work on, or nil if it is
// not eight aligned bytes. The transport checks the alignment of the remote
// address; it is that of the memory, because a region's base is its address.
func word(s transport.Span) *uint64 {
	b := s.Bytes()
	if len(b) != 8 || uintptr(unsafe.Pointer(&b[0]))%8 != 0 {
		return nil
	}
	return (*uint64)(unsafe.Pointer(&b[0]))
}

// freeKey draws a key that is in use neither locally nor remotely. Zero is
// left out, since a zero key is what a program sends that forgot it.
func (t *memoryTable) freeKey(e Engine) uint32 {
	for {
		k := uint32(e.Random() & math.MaxUint32)
		if k != 0 && t.regions[LKey(k)] == nil && t.remote[RKey(k)] == nil {
			return k
		}
	}
}
