package braid

import (
	"sync"
	"sync/atomic"

	"github.com/braid-rdma/braid/verbs"
)

// slot is registered memory for one frame, received or sent.
type slot struct {
	number uint32
	mr     *verbs.MR
	offset int
	owner  *Channel      // while a receive of it is posted, or a bundle is sent from it
	users  atomic.Int32  // messages in it
	next   atomic.Uint32 // the next free one, plus one
}

// regionBytes is how much memory is registered at a time (X-RDMA §IV-E: 4 MiB, so that
// regions are few).
const regionBytes = 4 << 20

// slots is the context's memory for frames. It grows by regions, which are freed with the
// context. Any goroutine takes and puts, without a lock: free is the number of the first free
// slot plus one, and above it a count that changes with each change, so that a goroutine that
// was interrupted does not take an old list for the present one.
type slots struct {
	pd   *verbs.PD
	size int
	free atomic.Uint64
	all  atomic.Pointer[[]*slot]
	grow sync.Mutex
}

func newSlots(pd *verbs.PD, size int) *slots {
	s := &slots{pd: pd, size: size}
	s.all.Store(new([]*slot))
	return s
}

// at returns the slot of a number.
func (s *slots) at(number uint32) *slot { return (*s.all.Load())[number] }

// take returns a free slot.
func (s *slots) take() (*slot, error) {
	for {
		head := s.free.Load()
		first := uint32(head)
		if first == 0 {
			if err := s.enlarge(); err != nil {
				return nil, err
			}
			continue
		}
		t := s.at(first - 1)
		if s.free.CompareAndSwap(head, changed(head)|uint64(t.next.Load())) {
			return t, nil
		}
	}
}

// put makes a slot free.
func (s *slots) put(t *slot) {
	for {
		head := s.free.Load()
		t.next.Store(uint32(head))
		if s.free.CompareAndSwap(head, changed(head)|uint64(t.number+1)) {
			return
		}
	}
}

// drop is called by each user of a slot that has messages; the last one makes it free.
func (s *slots) drop(t *slot) {
	if t.users.Add(-1) == 0 {
		s.put(t)
	}
}

// changed is the count of the next state of the free list.
func changed(head uint64) uint64 { return (head>>32 + 1) << 32 }

// enlarge adds a region, unless another goroutine just has.
func (s *slots) enlarge() error {
	s.grow.Lock()
	defer s.grow.Unlock()
	if uint32(s.free.Load()) != 0 {
		return nil
	}
	mr, err := s.pd.AllocMemory(regionBytes, verbs.LocalWrite)
	if err != nil {
		return err
	}
	old := *s.all.Load()
	all := append(make([]*slot, 0, len(old)+regionBytes/s.size), old...)
	for offset := 0; offset+s.size <= regionBytes; offset += s.size {
		all = append(all, &slot{number: uint32(len(all)), mr: mr, offset: offset})
	}
	s.all.Store(&all)
	for _, t := range all[len(old):] {
		s.put(t)
	}
	return nil
}

// completed handles the completion of a bundle that was sent from the slot.
func (t *slot) completed(c *Context, e *verbs.Completion) {
	ch := t.owner
	t.owner = nil
	c.slots.put(t)
	ch.frameSent(e)
}

// bytes is the memory of the slot, from its start.
func (t *slot) bytes() []byte { return t.mr.Bytes()[t.offset:] }

// bytes is how much memory there is.
func (s *slots) bytes() int { return len(*s.all.Load()) * s.size }
