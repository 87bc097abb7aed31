package loopnet

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/braid-rdma/braid/internal/broadcast"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
	"github.com/braid-rdma/braid/wire"
)

// errUnknownQP is a call on a queue pair that is not attached.
var errUnknownQP = errors.New("loopnet: queue pair is not attached")

// port is an attached queue pair.
type port struct {
	qp     transport.QP
	sink   verbs.Sink
	remote netip.Addr
	kicked bool
}

// engine is one device's end of the network.
type engine struct {
	network *Network
	local   netip.Addr
	start   time.Time
	inbox   inbox
	news    broadcast.Broadcast // something may have become ready

	closeOnce sync.Once
	stop      chan struct{}
	stopped   chan struct{}

	mu        sync.Mutex
	ports     map[wire.QPN]*port
	kicked    []*port
	addresses verbs.Addresses
	packet    transport.Packet
	received  []frame
}

var _ verbs.Engine = (*engine)(nil)

func newEngine(n *Network, local netip.Addr) *engine {
	return &engine{
		network: n, local: local, start: time.Now(),
		inbox: newInbox(),
		stop:  make(chan struct{}), stopped: make(chan struct{}),
		ports: make(map[wire.QPN]*port),
	}
}

// Info implements verbs.Engine.
func (e *engine) Info() verbs.EngineInfo {
	return verbs.EngineInfo{Name: "loopnet", Local: e.local, MTU: transport.StandardMTU(e.network.options.MTU), MPMTU: e.network.options.MTU, Paths: e.network.options.Paths, Keepalive: verbs.DefaultKeepalive}
}

// Now implements verbs.Engine.
func (e *engine) Now() transport.Time { return transport.Time(time.Since(e.start)) + 1 }

// Random implements verbs.Engine.
func (e *engine) Random() uint64 {
	var b [8]byte
	rand.Read(b[:]) // never fails, by its contract
	return binary.NativeEndian.Uint64(b[:])
}

// Addresses implements verbs.Engine.
func (e *engine) Addresses() *verbs.Addresses { return &e.addresses }

// Attach implements verbs.Engine.
func (e *engine) Attach(qp transport.QP, sink verbs.Sink) error {
	if e.ports[qp.Number()] != nil {
		return fmt.Errorf("loopnet: queue pair %v exists", qp.Number())
	}
	e.ports[qp.Number()] = &port{qp: qp, sink: sink}
	return nil
}

// Route implements verbs.Engine.
func (e *engine) Route(qp transport.QP, remote netip.Addr) error {
	p := e.ports[qp.Number()]
	if p == nil {
		return errUnknownQP
	}
	if !remote.Is4() {
		return fmt.Errorf("loopnet: no route to %v", remote)
	}
	p.remote = remote
	return nil
}

// Detach implements verbs.Engine.
func (e *engine) Detach(qp transport.QP) { delete(e.ports, qp.Number()) }

// Kick implements verbs.Engine.
func (e *engine) Kick(qp transport.QP) {
	if p := e.ports[qp.Number()]; p != nil && !p.kicked {
		p.kicked = true
		e.kicked = append(e.kicked, p)
	}
}

// Progress implements verbs.Engine.
func (e *engine) Progress() bool {
	if !e.mu.TryLock() {
		return false
	}
	busy := e.round()
	e.Unlock()
	return busy
}

// Wake implements verbs.Engine.
func (e *engine) Wake() { e.news.Announce() }

// WaitProgress implements verbs.Engine. Packets and timers are the business of
// the engine's goroutine; the caller waits for what it announces.
func (e *engine) WaitProgress(ctx context.Context, until verbs.Readiness) error {
	for {
		news := e.news.Next()
		if until.Ready() {
			return nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return ctx.Err()
		case <-e.stop:
			return fmt.Errorf("loopnet: %w", verbs.ErrClosed)
		}
	}
}

// Close implements verbs.Engine.
func (e *engine) Close() error {
	e.closeOnce.Do(func() {
		e.network.remove(e.local)
		close(e.stop)
		<-e.stopped
	})
	return nil
}
