package verbs

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"unsafe"

	"github.com/braid-rdma/braid/transport"
)

// MR is a registered memory region: memory that work requests may name and,
// with rights and the remote key, peers may reach.
//
// The bytes belong to the program and to the engine at the same time. The
// engine writes them when a receive, a READ, an atomic or a peer's WRITE
// arrives; the completion of the work request orders its writes before the
// program's reads. A peer's WRITE without immediate data has no completion on
// this side, and neither has a peer's READ: access such bytes with Load and Store,
// or LoadUint64, LoadUint32 and StoreUint64, since a plain read beside the
// engine's write, or the reverse, is a data race in Go.
type MR struct {
	pd *PD
	// region is read with the lock of a loop held, and changed with those of all; what never changes needs none.
	// It stands apart because the requests that were posted last keep it, when the memory is gone.
	region  *transport.Region
	buf     []byte        // the memory, likewise; that of region until it is deregistered
	rkey    atomic.Uint32 // region.RKey, for reading without a lock
	revoked atomic.Bool   // a peer has invalidated the remote key
}

// RegisterMemory registers a buffer. The region keeps it alive, and Go does
// not move it, so remote addresses within it are its real addresses (see
// MR.Addr).
func (p *PD) RegisterMemory(buf []byte, access Access) (*MR, error) {
	if len(buf) == 0 || uint64(len(buf)) > MaxRegion {
		return nil, fmt.Errorf("%w: a region of %d bytes", ErrRange, len(buf))
	}
	if err := checkAccess(access); err != nil {
		return nil, err
	}
	if err := p.lock(); err != nil {
		return nil, err
	}
	defer p.device.unlock()
	t := &p.device.memory
	if len(t.regions) >= MaxMRs {
		return nil, fmt.Errorf("%w: %d memory regions", ErrLimit, MaxMRs)
	}
	m := &MR{pd: p, buf: buf, region: &transport.Region{
		Base:   addressOf(buf),
		Length: uint64(len(buf)),
		PD:     p.id,
		Access: access,
		Bytes:  buf,
	}}
	nic, ok := p.device.engine.(NIC)
	if !ok {
		m.region.LKey = LKey(t.freeKey(p.device.engine))
	} else if err := nic.Register(m.region); err != nil {
		return nil, err
	}
	t.regions[m.region.LKey] = m
	t.bytes += m.region.Length
	if !ok {
		m.region.RKey = RKey(t.freeKey(p.device.engine))
	}
	m.publishLocked()
	return m, nil
}

// addressOf is the address of the first byte.
func addressOf(buf []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(buf)))) }

// AllocMemory allocates memory that begins at a page boundary, and registers
// it. Memory that the system does not grant is ErrNoMemory.
func (p *PD) AllocMemory(size int, access Access) (*MR, error) {
	if size < 1 || uint64(size) > MaxRegion {
		return nil, fmt.Errorf("%w: a region of %d bytes", ErrRange, size)
	}
	if err := checkAccess(access); err != nil {
		return nil, err
	}
	buf, err := allocPages(size)
	if err != nil {
		return nil, err
	}
	return p.RegisterMemory(buf, access)
}

// checkAccess refuses rights that contradict each other: what peers may write
// must be writable here, as the InfiniBand specification asks.
func checkAccess(a Access) error {
	const all = LocalWrite | RemoteWrite | RemoteRead | RemoteAtomic | RemoteInvalidate
	if a&^all != 0 {
		return fmt.Errorf("%w: unknown bits %#x", ErrAccess, uint8(a&^all))
	}
	if a&(RemoteWrite|RemoteAtomic) != 0 && a&LocalWrite == 0 {
		return fmt.Errorf("%w: RemoteWrite and RemoteAtomic need LocalWrite", ErrAccess)
	}
	return nil
}

// Addr is the address of the first byte, as remote requests name it: its
// address in this process.
func (m *MR) Addr() uint64 { return m.region.Base }

// Len is the number of bytes.
func (m *MR) Len() int { return int(m.region.Length) }

// Bytes is the memory. Who reads or writes it beside the engine must know from
// completions that the engine does not (see MR).
func (m *MR) Bytes() []byte { return m.buf }

// WithBytes calls f with the memory, unless the region was deregistered: that is ErrClosed, and
// Deregister waits for f. It is for a program that moves bytes by itself, on behalf of another that may
// deregister the region. The engine's lock is held: f must neither block nor call this package.
func (m *MR) WithBytes(f func(b []byte)) error {
	l := m.pd.device.first() // any: Deregister locks all
	if err := l.lock(); err != nil {
		return err
	}
	defer l.Unlock()
	if m.region.Invalid {
		return fmt.Errorf("memory region: %w", ErrClosed)
	}
	f(m.region.Bytes)
	return nil
}

// SGE names length bytes of the region, beginning offset bytes into it, for a
// work request. Whether the region has them is checked when the request is posted:
// numbers that no region has stay such here.
func (m *MR) SGE(offset, length int) SGE {
	e := SGE{Region: m.region, Offset: uint64(offset), Length: math.MaxUint32}
	switch {
	case offset < 0 || length < 0:
		e.Offset = math.MaxUint64
	case uint64(length) <= math.MaxUint32:
		e.Length = uint32(length)
	}
	return e
}

// All names the whole region for a work request.
func (m *MR) All() SGE { return m.SGE(0, m.Len()) }

// LKey is the local key. Work requests name the region itself; the key is for
// tools that show it.
func (m *MR) LKey() LKey { return m.region.LKey }

// RKey is the remote key, which peers need to reach the region.
func (m *MR) RKey() RKey { return RKey(m.rkey.Load()) }

// Access is the set of rights.
func (m *MR) Access() Access { return m.region.Access }

// Rekey gives the region a new random remote key and returns it. The old one
// is refused from then on, whether the peer had invalidated it or not.
func (m *MR) Rekey() (RKey, error) {
	if err := m.pd.lock(); err != nil {
		return 0, err
	}
	defer m.pd.device.unlock()
	if m.region.Invalid {
		return 0, fmt.Errorf("memory region: %w", ErrClosed)
	}
	if _, ok := m.pd.device.engine.(NIC); ok {
		return 0, fmt.Errorf("memory region: a new key from a NIC: %w: register it again", errors.ErrUnsupported)
	}
	t := &m.pd.device.memory
	if t.remote[m.region.RKey] == m {
		t.drop(m.region.RKey)
	}
	m.region.RKey = RKey(t.freeKey(m.pd.device.engine))
	m.publishLocked()
	return m.region.RKey, nil
}

// publishLocked makes the region known by its remote key.
func (m *MR) publishLocked() {
	m.pd.device.memory.remote[m.region.RKey] = m
	m.revoked.Store(false)
	m.rkey.Store(uint32(m.region.RKey))
}

// Replace puts other memory of the same length in the place of the region's: requests under
// way go on with it, under the same address and keys. So a program can have its memory back
// while a peer still reads. Local work requests that name the region go on with it too. Where
// peers may run atomics, the buffer must be aligned to eight bytes as the region's address is.
func (m *MR) Replace(buf []byte) error {
	if uint64(len(buf)) != m.region.Length {
		return fmt.Errorf("%w: %d bytes in the place of %d", ErrRange, len(buf), m.region.Length)
	}
	// An aligned address of the region must stay one of an aligned number (see word).
	if m.region.Access&RemoteAtomic != 0 && (addressOf(buf)-m.region.Base)%8 != 0 {
		return fmt.Errorf("%w: the memory is aligned to eight bytes otherwise than that of the region", ErrRange)
	}
	if _, ok := m.pd.device.engine.(NIC); ok {
		return fmt.Errorf("replace memory of a region: the adapter knows its address: %w", errors.ErrUnsupported)
	}
	if err := m.pd.lock(); err != nil {
		return err
	}
	defer m.pd.device.unlock()
	m.buf = buf
	if !m.region.Invalid {
		m.region.Bytes = buf
	}
	return nil
}

// Deregister ends the use of the region. When it returns, the memory is neither written nor
// read any more: requests under way fail, here with IBV_WC_LOC_PROT_ERR, at the peer with
// IBV_WC_REM_ACCESS_ERR. Of packets that wait because the kernel took no more there is a
// copy by then. Deregistering twice is allowed.
func (m *MR) Deregister() error {
	// A loop copies only with its lock held, so having had all locks once
	// after the mark is set is the wait.
	m.pd.device.lockAll()
	defer m.pd.device.unlock()
	return m.deregisterLocked()
}

func (m *MR) deregisterLocked() error {
	if m.region.Invalid {
		return nil
	}
	m.region.Invalid, m.region.Bytes = true, nil
	t := &m.pd.device.memory
	delete(t.regions, m.region.LKey)
	if t.remote[m.region.RKey] == m {
		t.drop(m.region.RKey)
	}
	t.bytes -= m.region.Length
	if nic, ok := m.pd.device.engine.(NIC); ok {
		return nic.Deregister(m.region)
	}
	return nil
}
