package sim

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// A host is the engine of a device: the verbs objects of a program run on it
// unchanged. Their calls happen at the instant that the simulation has reached.

var _ verbs.Engine = (*host)(nil)

// ErrIdle is what a wait returns when nothing is left to happen.
var ErrIdle = errors.New("sim: nothing is left to happen")

var errUnknownQP = errors.New("sim: queue pair is not attached")

// Lock implements verbs.Engine. A host belongs to the thread that runs its shard.
func (h *host) Lock() {}

// Unlock implements verbs.Engine.
func (h *host) Unlock() {
	for len(h.kicked) > 0 {
		c := h.kicked[len(h.kicked)-1]
		h.kicked = h.kicked[:len(h.kicked)-1]
		c.kicked = false
		if !c.dead {
			h.activate(c)
			h.settle(c)
		}
	}
}

// Now implements verbs.Engine.
func (h *host) Now() transport.Time { return h.now().wallClock() }

// Random implements verbs.Engine.
func (h *host) Random() uint64 { return h.dice.roll() }

// Attach implements verbs.Engine.
func (h *host) Attach(qp transport.QP, sink verbs.Sink) error {
	if h.conns.find(qp.Number()) != nil {
		return fmt.Errorf("sim: queue pair %v exists", qp.Number())
	}
	c := &conn{qp: qp, number: qp.Number(), sink: sink, host: h, remote: -1, timerAt: never, laterAt: never, priority: h.net.cfg.priority(), express: h.net.cfg.expressOf(qp)}
	c.sport = h.firstPort()
	h.conns.add(c)
	return nil
}

// Route implements verbs.Engine.
func (h *host) Route(qp transport.QP, remote netip.Addr) error {
	c := h.conns.find(qp.Number())
	if c == nil {
		return errUnknownQP
	}
	to := h.net.hostAt(remote)
	if to < 0 {
		return fmt.Errorf("sim: no host has the address %v", remote)
	}
	c.remote, c.carrier, c.detour = int32(to), h.carriers[int32(to)], nil
	_, c.multi = qp.(transport.MultiPath)
	return nil
}

// Detach implements verbs.Engine.
func (h *host) Detach(qp transport.QP) {
	if c := h.conns.find(qp.Number()); c != nil {
		c.dead = true
		h.conns.remove(c)
	}
}

// Kick implements verbs.Engine.
func (h *host) Kick(qp transport.QP) {
	if c := h.conns.find(qp.Number()); c != nil && !c.kicked {
		c.kicked = true
		h.kicked = append(h.kicked, c)
	}
}

// Addresses implements verbs.Engine.
func (h *host) Addresses() *verbs.Addresses { return &h.addresses }

// Progress implements verbs.Engine: one event of the whole network happens. It
// does nothing when it is called from within an event.
func (h *host) Progress() bool { return h.net.step() }

// WaitProgress implements verbs.Engine: the simulation goes on until the
// condition holds.
func (h *host) WaitProgress(ctx context.Context, until verbs.Readiness) error {
	return h.Wait(ctx, until.Ready)
}

// Info implements verbs.Engine.
func (h *host) Info() verbs.EngineInfo {
	c := &h.net.cfg
	return verbs.EngineInfo{Name: "sim", Local: h.addr, MTU: transport.StandardMTU(c.MTU), MPMTU: c.MTU, Paths: c.Paths, SourcePorts: c.SourcePorts, Window: c.Window}
}

// Close implements verbs.Engine.
func (h *host) Close() error { return nil }
