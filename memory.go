package braid

import (
	"encoding/binary"
	"fmt"

	"github.com/braid-rdma/braid/verbs"
)

// Access is what peers may do with memory.
type Access uint8

// Rights of peers.
const (
	CanRead   Access = 1 << iota
	CanWrite         // also synchronise writes
	CanAtomic        // CompareAndSwap and FetchAdd, of eight aligned bytes
)

func (a Access) verbs() verbs.Access {
	rights := verbs.LocalWrite
	for _, r := range []struct {
		ours   Access
		theirs verbs.Access
	}{{CanRead, verbs.RemoteRead}, {CanWrite, verbs.RemoteWrite}, {CanAtomic, verbs.RemoteAtomic}} {
		if a&r.ours != 0 {
			rights |= r.theirs
		}
	}
	return rights
}

// Memory is registered memory: peers of the context's channels may reach it if they know where
// it is (see Remote).
type Memory struct {
	mr    *verbs.MR
	guard *guarded // in debug mode, of Alloc
}

// Alloc allocates and registers memory.
func (c *Context) Alloc(length int, peers Access) (*Memory, error) {
	if c.memory.debug != nil && length > 0 && length < verbs.MaxRegion {
		return c.allocGuarded(length, peers)
	}
	mr, err := c.pd.AllocMemory(length, peers.verbs())
	if err != nil {
		return nil, fmt.Errorf("braid: %w", err)
	}
	return &Memory{mr: mr}, nil
}

// allocGuarded is Alloc in debug mode.
func (c *Context) allocGuarded(length int, peers Access) (*Memory, error) {
	guard, err := c.memory.debug.alloc(length)
	if err != nil {
		return nil, fmt.Errorf("braid: %w", err)
	}
	mr, err := c.pd.RegisterMemory(guard.bytes(), peers.verbs())
	if err != nil {
		guard.close()
		return nil, fmt.Errorf("braid: %w", err)
	}
	return &Memory{mr, guard}, nil
}

// Register registers memory of the program, which stays where it is.
func (c *Context) Register(b []byte, peers Access) (*Memory, error) {
	mr, err := c.pd.RegisterMemory(b, peers.verbs())
	if err != nil {
		return nil, fmt.Errorf("braid: %w", err)
	}
	return &Memory{mr: mr}, nil
}

// Bytes is the memory. What a peer may read or write at the same time is accessed by Load and
// Store instead: a plain access of it is a data race.
func (m *Memory) Bytes() []byte { return m.mr.Bytes() }

// Load copies bytes out of the memory, and Store into it, while peers may write or read them.
func (m *Memory) Load(offset int, dst []byte) error { return m.mr.Load(offset, dst) }

// Store copies bytes into the memory.
func (m *Memory) Store(offset int, src []byte) error { return m.mr.Store(offset, src) }

// LoadUint64 reads eight aligned bytes as a number in the order of the host, and StoreUint64
// writes one: what CompareAndSwap and FetchAdd of peers work on.
func (m *Memory) LoadUint64(offset int) (uint64, error) { return m.mr.LoadUint64(offset) }

// StoreUint64 writes a number.
func (m *Memory) StoreUint64(offset int, v uint64) error { return m.mr.StoreUint64(offset, v) }

// Remote names the memory to peers. Send it to those who shall reach it.
func (m *Memory) Remote() Remote {
	return Remote{addr: m.mr.Addr(), key: m.mr.RKey(), length: uint64(m.mr.Len())}
}

// Close deregisters the memory. When it returns, no peer writes it any more; one that tries
// loses its channel.
func (m *Memory) Close() error {
	err := m.mr.Deregister()
	if m.guard != nil {
		m.guard.close()
	}
	return err
}

// Remote is memory of a peer.
type Remote struct {
	addr   uint64
	key    verbs.RKey
	length uint64
}

// Len is how much there is.
func (r Remote) Len() int { return int(r.length) }

// Slice is a part of it. It panics, as that of a slice does, if it has no such part.
func (r Remote) Slice(from, to int) Remote {
	if from < 0 || to < from || uint64(to) > r.length {
		panic(fmt.Sprintf("braid: part %d to %d of remote memory of %d bytes", from, to, r.length))
	}
	return Remote{addr: r.addr + uint64(from), key: r.key, length: uint64(to - from)}
}

// remoteLen is the length of a Remote as bytes.
const remoteLen = 20

// AppendBinary implements encoding.BinaryAppender.
func (r Remote) AppendBinary(b []byte) ([]byte, error) {
	b = binary.BigEndian.AppendUint64(b, r.addr)
	b = binary.BigEndian.AppendUint64(b, r.length)
	return binary.BigEndian.AppendUint32(b, uint32(r.key)), nil
}

// MarshalBinary implements encoding.BinaryMarshaler: 20 bytes.
func (r Remote) MarshalBinary() ([]byte, error) { return r.AppendBinary(nil) }

// UnmarshalBinary implements encoding.BinaryUnmarshaler.
func (r *Remote) UnmarshalBinary(b []byte) error {
	if len(b) != remoteLen {
		return fmt.Errorf("braid: remote memory in %d bytes, want %d", len(b), remoteLen)
	}
	r.addr, r.length, r.key = binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:]), verbs.RKey(binary.BigEndian.Uint32(b[16:]))
	if r.length > verbs.MaxRegion || r.length > 0 && r.addr > -r.length {
		return fmt.Errorf("braid: remote memory of %d bytes at %#x", r.length, r.addr)
	}
	return nil
}
