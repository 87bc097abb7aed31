package verbs

import (
	"fmt"
	"net/netip"

	"github.com/braid-rdma/braid/transport"
)

// Addresses is a device's table of address handles. An engine owns one and
// uses it with its lock held; the zero value is empty and ready for use.
//
// A handle is not used for a second address, so that a datagram which was
// posted before its destination was destroyed is dropped, not misdirected.
type Addresses struct {
	last    AH
	byAH    map[AH]netip.Addr
	learnt  map[netip.Addr]AH
	recent  []AH // the learnt ones, a ring: the oldest is at next
	next    int
	created map[AH]*PD // those that the program has made, and in which domain
}

// Addr is the address of a handle.
func (a *Addresses) Addr(h AH) (netip.Addr, bool) {
	addr, ok := a.byAH[h&numberOfAH]
	return addr, ok
}

// Learn is the handle of the source of a datagram that arrived. The table
// remembers the latest few thousand sources.
func (a *Addresses) Learn(source netip.Addr) AH {
	if h, ok := a.learnt[source]; ok {
		return h
	}
	if a.learnt == nil {
		a.learnt = make(map[netip.Addr]AH)
	}
	h := a.add(source)
	a.learnt[source] = h
	if len(a.recent) < maxLearnt {
		a.recent = append(a.recent, h)
		return h
	}
	oldest := a.recent[a.next]
	delete(a.learnt, a.byAH[oldest])
	delete(a.byAH, oldest)
	a.recent[a.next] = h
	a.next = (a.next + 1) % maxLearnt
	return h
}

// create is the handle of a destination that the program names.
func (a *Addresses) create(destination netip.Addr, in *PD) (AH, error) {
	if !destination.IsValid() {
		return 0, fmt.Errorf("%w: no address given", ErrAddress)
	}
	if len(a.created) >= MaxAddressHandles {
		return 0, fmt.Errorf("%w: %d address handles", ErrLimit, len(a.created))
	}
	if a.created == nil {
		a.created = make(map[AH]*PD)
	}
	h := a.add(destination)
	a.created[h] = in
	return h, nil
}

// destroy forgets a handle that create made. Learnt handles live by their own rule.
func (a *Addresses) destroy(h AH) {
	h &= numberOfAH
	if _, ok := a.created[h]; !ok {
		return
	}
	delete(a.byAH, h)
	delete(a.created, h)
}

// destroyAll forgets the handles that were made in a domain.
func (a *Addresses) destroyAll(in *PD) {
	for h, pd := range a.created {
		if pd == in {
			a.destroy(h)
		}
	}
}

func (a *Addresses) add(addr netip.Addr) AH {
	if a.byAH == nil {
		a.byAH = make(map[AH]netip.Addr)
	}
	// After 2^23 handles the numbers begin again; those in use are passed over.
	for {
		a.last = (a.last + 1) & numberOfAH
		if _, used := a.byAH[a.last]; !used && a.last != 0 {
			break
		}
	}
	a.byAH[a.last] = addr
	return a.last
}

// A handle is a number of the table, and above it a virtual path plus one: zero
// leaves the path to the engine. So a handle by another path needs no entry, and
// who replies to strangers keeps nothing for them.
const (
	pathOfAHShift = 23
	numberOfAH    = 1<<pathOfAHShift - 1
)

// AHOnPath is a handle of the same address, by which datagrams leave on a virtual
// path of the device: on UDP from the source port of that path. It lives as long as
// the handle. An engine with fewer paths takes the remainder.
func AHOnPath(h AH, path int) AH {
	return h&numberOfAH | AH(path%transport.MaxPaths+1)<<pathOfAHShift
}

// PathOfAH is the path that AHOnPath has chosen; ok is false where the choice is the engine's.
func PathOfAH(h AH) (path int, ok bool) {
	path = int(h >> pathOfAHShift)
	return path - 1, path > 0
}
