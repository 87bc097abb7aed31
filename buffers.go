package braid

import (
	"math/bits"
	"sync"

	"github.com/braid-rdma/braid/verbs"
)

// buffer is registered memory for a large message that arrives.
type buffer struct {
	region *region
	offset int
	class  int
}

// region is memory that was registered at once and is cut into buffers of one class.
type region struct {
	mr   *verbs.MR
	used int // buffers
	size int
}

const (
	minClass = 13 // 8 KiB
	maxClass = 30
	// keepFree is how much unused memory is kept before regions that are not used at all
	// are given back.
	keepFree = 64 << 20
)

// buffers is the memory cache of a context (X-RDMA §IV-E): powers of two, cut out of regions of
// 4 MiB, and beyond that a region each. Peers have no right on it: only the context's own
// READs write it. It is used once per large message, so that a lock does no harm.
type buffers struct {
	pd       *verbs.PD
	mu       sync.Mutex
	free     [maxClass + 1][]*buffer
	unused   int // bytes in free
	occupied int // bytes of all regions
}

func newBuffers(pd *verbs.PD) *buffers { return &buffers{pd: pd} }

// classOf is the class of a length.
func classOf(length int) int { return max(minClass, bits.Len(uint(length-1))) }

// take returns a buffer of at least a length.
func (b *buffers) take(length int) (*buffer, error) {
	class := classOf(length)
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.free[class]) == 0 {
		if err := b.grow(class); err != nil {
			return nil, err
		}
	}
	last := len(b.free[class]) - 1
	t := b.free[class][last]
	b.free[class] = b.free[class][:last]
	b.unused -= 1 << class
	t.region.used++
	return t, nil
}

func (b *buffers) grow(class int) error {
	size := max(regionBytes, 1<<class)
	mr, err := b.pd.AllocMemory(size, verbs.LocalWrite)
	if err != nil {
		return err
	}
	r := &region{mr: mr, size: size}
	for offset := 0; offset < size; offset += 1 << class {
		b.free[class] = append(b.free[class], &buffer{region: r, offset: offset, class: class})
	}
	b.unused += size
	b.occupied += size
	return nil
}

// put makes a buffer free.
func (b *buffers) put(t *buffer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free[t.class] = append(b.free[t.class], t)
	b.unused += 1 << t.class
	t.region.used--
	if b.unused > keepFree && t.region.used == 0 {
		b.giveBack(t.region, t.class)
	}
}

// giveBack deregisters a region that is not used.
func (b *buffers) giveBack(r *region, class int) {
	kept := b.free[class][:0]
	for _, t := range b.free[class] {
		if t.region != r {
			kept = append(kept, t)
		}
	}
	clear(b.free[class][len(kept):])
	b.free[class] = kept
	b.unused -= r.size
	b.occupied -= r.size
	_ = r.mr.Deregister() // it fails only where the device is closed, and all with it
}

// bytes is the memory of the buffer.
func (t *buffer) bytes(length int) []byte {
	return t.region.mr.Bytes()[t.offset : t.offset+length : t.offset+1<<t.class]
}

// stats returns how much memory there is, and how much of it is not used.
func (b *buffers) stats() (all, unused int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.occupied, b.unused
}
