package transport

import "encoding/binary"

// testMemory is registered memory with every check that an engine makes. Keys
// are predictable and addresses far apart, so that tests can name bytes just
// outside a region.
type testMemory struct {
	regions map[uint32]*Region
	nextKey uint32
	lax     bool // a planted bug: keys do not end
	// fallback is a planted bug: what a wrong key opens.
	fallback *Region
	atomics  int // operations run, to prove that none runs twice
	// invalidated, if set, hears of the keys that the peer has ended.
	invalidated func(rkey uint32)
}

func newTestMemory() *testMemory {
	return &testMemory{regions: map[uint32]*Region{}, nextKey: 0x100}
}

// register makes a region of size bytes, zeroed.
func (m *testMemory) register(pd PD, size int, access Access) *Region {
	m.nextKey++
	r := &Region{
		Base: uint64(m.nextKey) << 32, Length: uint64(size), LKey: m.nextKey, RKey: m.nextKey,
		PD: pd, Access: access, Bytes: make([]byte, size),
	}
	m.regions[r.RKey] = r
	return r
}

func (m *testMemory) deregister(r *Region) {
	if m.lax {
		return
	}
	r.Invalid = true
	delete(m.regions, r.RKey)
}

// Resolve implements Memory.
func (m *testMemory) Resolve(pd PD, rkey uint32, va uint64, length uint32, want Access) (Span, bool) {
	if length == 0 {
		return Span{Region: &Region{}}, true
	}
	r := m.regions[rkey]
	if r == nil && m.fallback != nil {
		return m.fallback.span(0, int(min(uint64(length), m.fallback.Length))), true
	}
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

// Invalidate implements Memory.
func (m *testMemory) Invalidate(pd PD, rkey uint32) bool {
	r := m.regions[rkey]
	if r == nil || r.PD != pd {
		return false
	}
	// As in package verbs, the key ends and the memory stays registered.
	if !m.lax {
		delete(m.regions, rkey)
	}
	if m.invalidated != nil {
		m.invalidated(rkey)
	}
	return true
}

// rekey gives a region another remote key, which ends the one that it had.
func (m *testMemory) rekey(r *Region) {
	if !m.lax {
		delete(m.regions, r.RKey)
	}
	m.nextKey++
	r.RKey = m.nextKey
	m.regions[r.RKey] = r
}

// span names length bytes of a region from offset on.
func (r *Region) span(offset, length int) Span {
	return Span{Region: r, Offset: uint64(offset), Length: uint32(length)}
}
