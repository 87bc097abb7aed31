package braid

import (
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/braid-rdma/braid/internal/pages"
	"github.com/braid-rdma/braid/verbs"
)

// block is registered memory for one frame, received or sent, or for a large message that arrives.
type block struct {
	number uint32
	class  int
	region *region
	offset int           // of its memory in the region
	owner  *Channel      // while a receive of it is posted, or a bundle is sent from it
	users  atomic.Int32  // messages in it
	next   atomic.Uint32 // the next free one, plus one
	trail  *trail        // in debug mode
}

// region is memory that is mapped and registered at once, and cut into blocks of one class.
type region struct {
	mapping pages.Mapping
	mr      *verbs.MR   // nil: it was given back
	used    atomic.Bool // since shrink has last looked
	blocks  []*block
	free    []*block // of them, while shrink looks
}

const (
	// regionBytes is how much memory is registered at a time (X-RDMA §IV-E: 4 MiB, so that
	// regions are few).
	regionBytes = 4 << 20
	// idleTime is how long a region is kept that nobody uses; it is given back between once and twice as
	// long after its last use. A load that comes in waves of seconds keeps its memory.
	idleTime = 5 * time.Second

	frameClass = 0  // memory for frames; the others are powers of two
	minClass   = 13 // 8 KiB
	maxClass   = 31 // the longest message, and what debug mode puts around it
)

// memoryCache is the memory of a context for frames and large messages (X-RDMA §IV-E). It grows by
// regions of 4 MiB, and by one for each block that is longer; a region that nobody uses is given back after a
// while. Peers have no right on it: only receives and READs of the context write it.
//
// Any goroutine takes and puts blocks, without a lock. The lock is for regions that come and go.
type memoryCache struct {
	pd      *verbs.PD
	idle    time.Duration
	now     func() time.Duration
	later   func(func()) // runs what may take long
	limit   atomic.Int64 // Config.Memory
	debug   *memoryDebug // nil: off
	closed  atomic.Bool  // what becomes free is not needed any more
	dueAt   atomic.Int64 // when shrink is to be called
	frames  atomic.Int64 // bytes of regions for frames
	buffers atomic.Int64 // bytes of regions for large messages
	inUse   atomic.Int64 // bytes of large messages
	all     atomic.Pointer[[]*block]
	classes [maxClass + 1]memoryClass
	grow    sync.Mutex
}

// memoryClass has the blocks of one size. free is the number of the first free one plus one, and above it a
// count that changes with each change, so that a goroutine that was interrupted does not take an
// old list for the present one.
type memoryClass struct {
	free    atomic.Uint64
	stride  int // from one block to the next
	room    int // bytes of a block: less than stride in debug mode
	regions []*region
}

func newMemoryCache(pd *verbs.PD, cfg *Config, now func() time.Duration, later func(func())) *memoryCache {
	m := &memoryCache{pd: pd, now: now, later: later, idle: idleTime}
	if cfg.DebugMemory {
		m.debug = &memoryDebug{report: func(err *MemoryError) { panic(err) }}
	}
	m.limit.Store(int64(cfg.Memory))
	m.all.Store(new([]*block))
	m.dueAt.Store(int64(never))
	m.layOut(cfg.frameSize())
	return m
}

// layOut decides the sizes of blocks.
func (m *memoryCache) layOut(frameSize int) {
	m.classes[frameClass].room, m.classes[frameClass].stride = frameSize, frameSize+2*m.margin()
	for class := minClass; class <= maxClass; class++ {
		m.classes[class].room, m.classes[class].stride = 1<<class-2*m.margin(), 1<<class
	}
}

// margin is what lies before and behind the memory of a block.
func (m *memoryCache) margin() int {
	if m.debug == nil {
		return 0
	}
	return redZone
}

// frameSize is the length of a frame's block.
func (m *memoryCache) frameSize() int { return m.classes[frameClass].room }

// at returns the block of a number.
func (m *memoryCache) at(number uint32) *block { return (*m.all.Load())[number] }

// takeFrame returns a block for a frame.
func (m *memoryCache) takeFrame() (*block, error) { return m.take(frameClass, m.frameSize()) }

// takeBuffer returns a block for a message.
func (m *memoryCache) takeBuffer(length int) (*block, error) {
	class := max(minClass, bits.Len(uint(length+2*m.margin()-1)))
	b, err := m.take(class, length)
	if err == nil {
		m.inUse.Add(int64(m.classes[class].stride))
	}
	return b, err
}

func (m *memoryCache) take(class, length int) (*block, error) {
	free := &m.classes[class].free
	for {
		head := free.Load()
		first := uint32(head)
		if first == 0 {
			if err := m.enlarge(class); err != nil {
				return nil, err
			}
			continue
		}
		b := m.at(first - 1)
		if !free.CompareAndSwap(head, changed(head)|uint64(b.next.Load())) {
			continue
		}
		if !b.region.used.Load() {
			b.region.used.Store(true)
		}
		if m.debug != nil {
			m.debug.taken(b, length)
		}
		return b, nil
	}
}

// put makes a block free.
func (m *memoryCache) put(b *block) {
	if m.debug != nil && !m.debug.freed(b) {
		return
	}
	if b.class != frameClass {
		m.inUse.Add(-int64(m.classes[b.class].stride))
	}
	m.push(b)
	if m.closed.Load() {
		m.shrink(true)
	}
}

func (m *memoryCache) push(b *block) {
	free := &m.classes[b.class].free
	for {
		head := free.Load()
		b.next.Store(uint32(head))
		if free.CompareAndSwap(head, changed(head)|uint64(b.number+1)) {
			return
		}
	}
}

// changed is the count of the next state of a free list.
func changed(head uint64) uint64 { return (head>>32 + 1) << 32 }

// enlarge adds a region, unless another goroutine just has. Regions that are not used make room for it if
// there would be more than the limit.
func (m *memoryCache) enlarge(class int) error {
	m.grow.Lock()
	defer m.grow.Unlock()
	c := &m.classes[class]
	if uint32(c.free.Load()) != 0 {
		return nil
	}
	size := max(regionBytes, c.stride)
	if class != frameClass && m.buffers.Load()+int64(size) > m.limit.Load() {
		m.shrinkLocked(true)
	}
	i := slices.IndexFunc(c.regions, func(r *region) bool { return r.mr == nil })
	if i < 0 {
		i = len(c.regions)
		c.regions = append(c.regions, m.newRegion(class, size))
	}
	r := c.regions[i]
	if err := m.mapRegion(r, size); err != nil {
		return err
	}
	m.count(class, size)
	m.dueAt.CompareAndSwap(int64(never), int64(m.now()+m.idle))
	for _, b := range slices.Backward(r.blocks) {
		m.push(b)
	}
	return nil
}

// newRegion numbers the blocks of one region more. They keep their numbers while the region is given back: a
// goroutine that was interrupted in take may still look at them.
func (m *memoryCache) newRegion(class, size int) *region {
	old := *m.all.Load()
	r := &region{}
	stride := m.classes[class].stride
	for offset := 0; offset+stride <= size; offset += stride {
		r.blocks = append(r.blocks, &block{number: uint32(len(old) + len(r.blocks)), class: class, region: r, offset: offset + m.margin()})
	}
	all := slices.Concat(old, r.blocks)
	m.all.Store(&all)
	return r
}

func (m *memoryCache) mapRegion(r *region, size int) error {
	mapping, err := pages.Map(size)
	if err != nil {
		return fmt.Errorf("%w: %w", verbs.ErrNoMemory, err)
	}
	mr, err := m.pd.RegisterMemory(mapping.Bytes, verbs.LocalWrite)
	if err != nil {
		mapping.Unmap()
		return err
	}
	r.mapping, r.mr = mapping, mr
	if m.debug != nil {
		m.debug.mapped(r, m.classes[r.blocks[0].class].stride)
	}
	return nil
}

// count notes a region that came, or went.
func (m *memoryCache) count(class, size int) {
	if class == frameClass {
		m.frames.Add(int64(size))
	} else {
		m.buffers.Add(int64(size))
	}
}

// due is when shrink is to be called.
func (m *memoryCache) due() time.Duration { return time.Duration(m.dueAt.Load()) }

// shrink gives back the regions of which nothing was used since it was called last; with all set those of which
// nothing is used now.
func (m *memoryCache) shrink(all bool) {
	m.grow.Lock()
	defer m.grow.Unlock()
	m.shrinkLocked(all)
	if m.frames.Load()+m.buffers.Load() == 0 {
		m.dueAt.Store(int64(never))
	} else {
		m.dueAt.Store(int64(m.now() + m.idle))
	}
}

func (m *memoryCache) shrinkLocked(all bool) {
	for class := range m.classes {
		if len(m.classes[class].regions) > 0 {
			m.shrinkClass(&m.classes[class], all)
		}
	}
}

// shrinkClass takes all free blocks, and puts back those of regions that stay. Who wants one meanwhile waits in
// enlarge. A region that was given back has no free block.
func (m *memoryCache) shrinkClass(c *memoryClass, all bool) {
	m.takeAll(c)
	// What is put back last is used first: the oldest regions that are in use. So that others empty.
	for _, idle := range []bool{true, false} {
		for _, r := range slices.Backward(c.regions) {
			if whole := len(r.free) == len(r.blocks); whole != idle {
				continue
			}
			if idle && (all || !r.used.Load()) {
				m.giveBack(r)
				continue
			}
			r.used.Store(!idle)
			for _, b := range r.free {
				m.push(b)
			}
		}
	}
	for _, r := range c.regions {
		r.free = r.free[:0]
	}
}

// takeAll empties the free list of a class, and tells the regions which of their blocks are free.
func (m *memoryCache) takeAll(c *memoryClass) {
	head := c.free.Load()
	for !c.free.CompareAndSwap(head, changed(head)) {
		head = c.free.Load()
	}
	for next := uint32(head); next != 0; {
		b := m.at(next - 1)
		b.region.free = append(b.region.free, b)
		next = b.next.Load()
	}
}

// unusedFrames is how much of the memory for frames is free. Where other goroutines take and put at the same time it is an
// estimate.
func (m *memoryCache) unusedFrames() (bytes int) {
	c, most := &m.classes[frameClass], int(m.frames.Load())
	for next := uint32(c.free.Load()); next != 0 && bytes+c.stride <= most; bytes += c.stride {
		next = m.at(next - 1).next.Load()
	}
	m.grow.Lock()
	defer m.grow.Unlock()
	slack := int(m.frames.Load()) // what is left of the regions behind their last block
	for _, r := range c.regions {
		if r.mr != nil {
			slack -= len(r.blocks) * c.stride
		}
	}
	return bytes + slack
}

// giveBack deregisters a region and then unmaps it: no packet is sent from it or written to it any more.
func (m *memoryCache) giveBack(r *region) {
	if m.debug != nil {
		m.debug.unmapped(r)
	}
	m.count(r.blocks[0].class, -len(r.mapping.Bytes))
	_ = r.mr.Deregister() // it fails only where the device is closed
	mapping := r.mapping
	r.mr, r.mapping = nil, pages.Mapping{}
	if m.closed.Load() {
		mapping.Unmap()
	} else {
		m.later(mapping.Unmap)
	}
}

// close gives back all that is free. What the program has not released stays where it is until it does.
func (m *memoryCache) close() {
	m.closed.Store(true)
	m.shrink(true)
	if m.debug != nil {
		m.grow.Lock()
		defer m.grow.Unlock()
		for class := range m.classes {
			m.debug.checkAll(m.classes[class].regions)
		}
	}
}

// bytes is the memory of the block, which has room for length.
func (b *block) bytes(length int) []byte {
	return b.region.mapping.Bytes[b.offset : b.offset+length : b.offset+length]
}

// sge names a part of the block.
func (b *block) sge(offset, length int) verbs.SGE { return b.region.mr.SGE(b.offset+offset, length) }

// drop is called by each message in a block; the last one makes it free.
func (m *memoryCache) drop(b *block) {
	if b.users.Add(-1) == 0 {
		m.put(b)
	}
}

// completed handles the completion of a bundle that was sent from the block.
func (b *block) completed(c *Context, e *verbs.Completion) {
	ch := b.owner
	b.owner = nil
	c.memory.put(b)
	ch.frameSent(e)
}
