package transport

import (
	"encoding/binary"

	"github.com/braid-rdma/braid/wire"
)

// testMemory is registered memory with every check that an engine makes. Keys
// are predictable and addresses far apart, so that tests can name bytes just
// outside a region.
type testMemory struct {
	regions map[wire.RKey]*Region
	nextKey wire.RKey
	atomics int // operations run, to prove that none runs twice
}

func newTestMemory() *testMemory {
	return &testMemory{regions: map[wire.RKey]*Region{}, nextKey: 0x100}
}

// register makes a region of size bytes, zeroed.
func (m *testMemory) register(pd PD, size int, access Access) *Region {
	m.nextKey++
	r := &Region{
		Base: uint64(m.nextKey) << 32, Length: uint64(size), LKey: LKey(m.nextKey), RKey: m.nextKey,
		PD: pd, Access: access, Bytes: make([]byte, size),
	}
	m.regions[r.RKey] = r
	return r
}

func (m *testMemory) deregister(r *Region) {
	r.Invalid = true
	delete(m.regions, r.RKey)
}

// Resolve implements Memory.
func (m *testMemory) Resolve(pd PD, rkey wire.RKey, va uint64, length uint32, want Access) (Span, bool) {
	if length == 0 {
		return Span{Region: &Region{}}, true
	}
	r := m.regions[rkey]
	if r == nil || r.Invalid || r.PD != pd || r.Access&want != want || va < r.Base {
		return Span{}, false
	}
	offset := va - r.Base
	if offset > r.Length || uint64(length) > r.Length-offset {
		return Span{}, false
	}
	return Span{Region: r, Offset: offset, Length: length}, true
}

// Atomic implements Memory.
func (m *testMemory) Atomic(s Span, op AtomicOp, a, b uint64) uint64 {
	m.atomics++
	bytes := s.Bytes()
	old := binary.NativeEndian.Uint64(bytes)
	switch {
	case op == FetchAdd:
		binary.NativeEndian.PutUint64(bytes, old+a)
	case old == a:
		binary.NativeEndian.PutUint64(bytes, b)
	}
	return old
}

// Store implements Memory.
func (m *testMemory) Store(s Span, value uint64) {
	binary.NativeEndian.PutUint64(s.Bytes(), value)
}

// Invalidate implements Memory: the key ends, the region stays registered.
func (m *testMemory) Invalidate(pd PD, rkey wire.RKey) bool {
	r := m.regions[rkey]
	if r == nil || r.PD != pd {
		return false
	}
	delete(m.regions, rkey)
	return true
}

// ended says whether the remote key of a region is refused.
func (m *testMemory) ended(r *Region) bool { return m.regions[r.RKey] != r }

// rekey ends the remote key of a region by giving it another.
func (m *testMemory) rekey(r *Region) {
	delete(m.regions, r.RKey)
	m.nextKey++
	r.RKey = m.nextKey
	m.regions[r.RKey] = r
}

// span names length bytes of a region from offset on.
func (r *Region) span(offset, length int) Span {
	return Span{Region: r, Offset: uint64(offset), Length: uint32(length)}
}
