package verbs

import (
	"fmt"
	"slices"
	"sync/atomic"
	"unsafe"
)

// Access to memory that a peer reads or writes without a completion here.
//
// An RNIC writes memory behind the program's back, and programs poll the last
// byte of a buffer. In Go the engine's write is a write of another thread: a
// plain read beside it is a data race, with no promise about what is seen. An
// atomic load would not help, because the engine copies payload with plain
// stores, as fast as the machine can. So the functions here read with the
// engine lock held, which is what the engine holds when it copies, and write
// with it, since the engine reads what a peer READs just so. They see each
// packet's payload either wholly or not at all, and what they saw orders the
// program after it. The price is that of the lock, some tens of nanoseconds when
// nobody else has it; between two looks call Device.Progress, or the memory may
// have no thread that would change it.

// lockedCopy is the most that is copied in one hold of the lock, some tens of
// microseconds: nothing is sent or received meanwhile.
const lockedCopy = 256 << 10

// LoadUint64 reads the eight bytes at off as a number in the order of the host.
func (m *MR) LoadUint64(off int) (uint64, error) {
	p, err := m.at(off, 8)
	if err != nil {
		return 0, err
	}
	defer m.pd.device.unlock()
	return atomic.LoadUint64((*uint64)(p)), nil
}

// LoadUint32 reads the four bytes at off as a number in the order of the host.
func (m *MR) LoadUint32(off int) (uint32, error) {
	p, err := m.at(off, 4)
	if err != nil {
		return 0, err
	}
	defer m.pd.device.unlock()
	return atomic.LoadUint32((*uint32)(p)), nil
}

// StoreUint64 writes a number, in the order of the host, where a peer may read
// or change it at the same time.
func (m *MR) StoreUint64(off int, v uint64) error {
	p, err := m.at(off, 8)
	if err != nil {
		return err
	}
	defer m.pd.device.unlock()
	atomic.StoreUint64((*uint64)(p), v)
	return nil
}

// Load copies the bytes from off on to dst, while a peer may write them. A
// message of several packets may be half written in it; a flag written by a
// later message is what tells that it is whole. More than 256 KiB are copied in
// parts, between which a peer's packets may come.
func (m *MR) Load(off int, dst []byte) error {
	if err := m.checkRange(off, len(dst)); err != nil {
		return err
	}
	for part := range slices.Chunk(dst, lockedCopy) {
		m.loadPart(off, part)
		off += len(part)
	}
	return nil
}

// Store copies src to the bytes from off on, while a peer may read or write
// them. A READ of several packets may see some bytes from before and some from
// after. More than 256 KiB are copied in parts, as Load does.
func (m *MR) Store(off int, src []byte) error {
	if err := m.checkRange(off, len(src)); err != nil {
		return err
	}
	for part := range slices.Chunk(src, lockedCopy) {
		m.storePart(off, part)
		off += len(part)
	}
	return nil
}

// loadPart copies with all loops locked. Where the memory is it looks up with the
// locks held, since Replace changes that.
func (m *MR) loadPart(off int, dst []byte) {
	m.pd.device.lockAll()
	defer m.pd.device.unlock()
	copy(dst, m.buf[off:])
}

// storePart copies with all loops locked, as loadPart does.
func (m *MR) storePart(off int, src []byte) {
	m.pd.device.lockAll()
	defer m.pd.device.unlock()
	copy(m.buf[off:], src)
}

// at locks all loops and returns the place of size bytes at off, which
// must be aligned to their size.
func (m *MR) at(off, size int) (unsafe.Pointer, error) {
	if err := m.checkRange(off, size); err != nil {
		return nil, err
	}
	m.pd.device.lockAll()
	p := unsafe.Pointer(&m.buf[off])
	if uintptr(p)%uintptr(size) != 0 {
		m.pd.device.unlock()
		return nil, fmt.Errorf("%w: offset %d is not aligned to %d bytes", ErrRange, off, size)
	}
	return p, nil
}

func (m *MR) checkRange(off, length int) error {
	if off < 0 || length < 0 || off > m.Len() || length > m.Len()-off {
		return fmt.Errorf("%w: bytes %d to %d of %d", ErrRange, off, off+length, m.Len())
	}
	return nil
}
