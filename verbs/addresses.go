package verbs

import (
	"fmt"
	"net/netip"
)

// Addresses is a device's table of address handles. An engine owns one and
// uses it with its lock held; the zero value is empty and ready for use.
//
// A handle is never used for a second address, so that a datagram which was
// posted before its destination was destroyed is dropped, not misdirected.
type Addresses struct {
	last    AH
	byAH    map[AH]netip.Addr
	learnt  map[netip.Addr]AH
	recent  []AH // the learnt ones, a ring: the oldest is at next
	next    int
	created int
}

// Addr is the address of a handle.
func (a *Addresses) Addr(h AH) (netip.Addr, bool) {
	addr, ok := a.byAH[h]
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
func (a *Addresses) create(destination netip.Addr) (AH, error) {
	if !destination.IsValid() {
		return 0, fmt.Errorf("%w: no address given", ErrAddress)
	}
	if a.created >= MaxAddressHandles {
		return 0, fmt.Errorf("%w: %d address handles", ErrLimit, a.created)
	}
	a.created++
	return a.add(destination), nil
}

// destroy forgets a handle that create made. Learnt handles live by their own rule.
func (a *Addresses) destroy(h AH) {
	addr, ok := a.byAH[h]
	if !ok || a.learnt[addr] == h {
		return
	}
	delete(a.byAH, h)
	a.created--
}

func (a *Addresses) add(addr netip.Addr) AH {
	if a.byAH == nil {
		a.byAH = make(map[AH]netip.Addr)
	}
	// After 2^32 handles the numbers begin again; those in use are passed over.
	for {
		a.last++
		if _, used := a.byAH[a.last]; !used && a.last != 0 {
			break
		}
	}
	a.byAH[a.last] = addr
	return a.last
}
