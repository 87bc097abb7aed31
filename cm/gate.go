package cm

import (
	"context"
	"net/netip"
)

// gate lets a bounded number of requests be on their way to a peer.
type gate struct {
	places chan struct{}
	users  int // under the manager's lock
}

// pass waits for a place at the gate to a peer. Who has one calls leave.
func (m *Manager) pass(ctx context.Context, peer netip.Addr) (leave func(), err error) {
	m.mu.Lock()
	g := m.gates[peer]
	if g == nil {
		g = &gate{places: make(chan struct{}, dialWindow)}
		m.gates[peer] = g
	}
	g.users++
	m.mu.Unlock()
	select {
	case g.places <- struct{}{}:
		return func() {
			<-g.places
			m.quit(peer, g)
		}, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-m.stop:
		err = ErrClosed
	}
	m.quit(peer, g)
	return nil, err
}

// quit forgets a gate that nobody uses.
func (m *Manager) quit(peer netip.Addr, g *gate) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if g.users--; g.users == 0 {
		delete(m.gates, peer)
	}
}
