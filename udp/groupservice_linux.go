package udp

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/braid-rdma/braid/verbs"
)

func servedElsewhere(service uint64) error {
	return fmt.Errorf("%w: service %#x", verbs.ErrServed, service)
}

// serve takes a service for this device, at this address.
func (g *group) serve(service uint64) error {
	g.mu.Lock()
	at, taken := g.services[service]
	leads := g.leader == nil
	refused := leads && taken && at != g.seat
	if !refused {
		g.services[service] = g.seat // told to the next leader, if this one goes away
	}
	g.mu.Unlock()
	if !leads && g.ask(groupServe, service) {
		refused = true
		g.forget(service)
	}
	if refused {
		return servedElsewhere(service)
	}
	return nil
}

// unserve gives a service back.
func (g *group) unserve(service uint64) {
	g.forget(service)
	g.ask(groupUnserve, service)
}

// forget takes a service from those of this device.
func (g *group) forget(service uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.services[service] == g.seat {
		delete(g.services, service)
	}
}

// ask tells the leader of a service, if that is another device, and waits until it has taken note; it returns whether it
// refuses. A leader that does not respond may be gone: the next is told when the device comes back to it.
func (g *group) ask(kind byte, service uint64) (refused bool) {
	g.asking.Lock()
	defer g.asking.Unlock()
	g.mu.Lock()
	conn := g.leader
	g.mu.Unlock()
	for len(g.replies) > 0 {
		<-g.replies
	}
	if conn == nil || !conn.post(binary.BigEndian.AppendUint64([]byte{kind}, service)) {
		return false
	}
	select {
	case m := <-g.replies:
		return m.Served
	case <-g.closing:
	case <-time.After(groupPatience):
	}
	return false
}

var _ verbs.Shared = (*engine)(nil)

// Serve implements verbs.Shared.
func (e *engine) Serve(service uint64) error {
	e.mu.Lock()
	e.services = append(e.services, service) // of addresses that are taken later
	groups := e.groups()
	e.mu.Unlock()
	for i, g := range groups {
		if err := g.serve(service); err != nil {
			for _, g := range groups[:i] {
				g.unserve(service)
			}
			e.forgetService(service)
			return fmt.Errorf("udp: %w", err)
		}
	}
	return nil
}

// Unserve implements verbs.Shared.
func (e *engine) Unserve(service uint64) {
	for _, g := range e.forgetService(service) {
		g.unserve(service)
	}
}

func (e *engine) forgetService(service uint64) []*group {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.services = slices.DeleteFunc(e.services, func(s uint64) bool { return s == service })
	return e.groups()
}
