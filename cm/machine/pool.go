package machine

import (
	"container/list"
	"net/netip"
)

// pool bounds the connections that peers asked for and that are not
// established. There is one for requests whose sender has proven that they are its
// own, a small one for requests in the name of an address that exists, and a small
// one for the others.
//
// An address holds at most a share of what is free. So a single one never fills
// the pool, and however many do their best there is always something left for
// an address that holds nothing.
type pool struct {
	limit int
	share int // an address may hold one in share of the free places
	held  map[netip.Addr]int
	order list.List // of *conn, the oldest first
}

func newPool(limit, share int) pool {
	return pool{limit: limit, share: share, held: make(map[netip.Addr]int)}
}

func (p *pool) len() int { return p.order.Len() }

// admits says whether there is room for one more connection of an address.
func (p *pool) admits(from netip.Addr) bool {
	free := p.limit - p.len()
	return free > 0 && p.held[from] < max(1, free/p.share)
}

// displaceable is the connection whose place an address may take when the pool
// is full: the oldest, if it has had the time to prove its address. An address
// that holds a place already displaces nobody.
func (p *pool) displaceable(now Time, from netip.Addr) *conn {
	oldest := p.order.Front()
	if oldest == nil || p.len() < p.limit || p.held[from] > 0 {
		return nil
	}
	if c := oldest.Value.(*conn); c.started+proofTime <= now {
		return c
	}
	return nil
}

func (p *pool) add(c *conn) {
	p.held[c.peer]++
	c.element = p.order.PushBack(c)
}

// remove forgets the address with its last connection: nothing is kept of
// peers that hold nothing.
func (p *pool) remove(c *conn) {
	p.order.Remove(c.element)
	c.element = nil
	if p.held[c.peer]--; p.held[c.peer] == 0 {
		delete(p.held, c.peer)
	}
}
