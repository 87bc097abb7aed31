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
	g.asking.Lock()
	defer g.asking.Unlock()
	g.mu.Lock()
	at, taken := g.services[service]
	conn := g.leader
	if conn == nil || g.closed {
		defer g.mu.Unlock()
		if taken && at != g.seat {
			return servedElsewhere(service)
		}
		g.services[service] = g.seat
		return nil
	}
	g.services[service] = g.seat // told to the next leader, if this one goes away
	g.mu.Unlock()
	for len(g.replies) > 0 {
		<-g.replies
	}
	if conn.post(binary.BigEndian.AppendUint64([]byte{groupServe}, service)) {
		select {
		case m := <-g.replies:
			if m.Served {
				g.unserve(service)
				return servedElsewhere(service)
			}
		case <-time.After(groupPatience): // the next leader is told
		}
	}
	return nil
}

// unserve gives a service back.
func (g *group) unserve(service uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.services, service)
	if g.leader != nil && !g.closed {
		g.leader.post(binary.BigEndian.AppendUint64([]byte{groupUnserve}, service))
	}
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
