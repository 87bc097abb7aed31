package verbs

import (
	"context"
	"math/rand/v2"
	"net/netip"
	"sync"

	"github.com/braid-rdma/braid/transport"
)

// idleEngine is an engine without a network: it drops what queue pairs send, by
// which datagrams are complete, and delivers what they report.
type idleEngine struct {
	sync.Mutex
	addresses Addresses
	sinks     map[transport.QP]Sink
	kicked    []transport.QP
	packet    transport.Packet // the last that was sent
	completed transport.Completion
}

func newIdleEngine() *idleEngine { return &idleEngine{sinks: make(map[transport.QP]Sink)} }

func (e *idleEngine) Unlock() {
	for _, q := range e.kicked {
		for q.PollTransmit(e.Now(), &e.packet) {
		}
		for q.PollCompletion(&e.completed) {
			e.sinks[q].Deliver(&e.completed)
		}
	}
	e.kicked = e.kicked[:0]
	e.Mutex.Unlock()
}

func (e *idleEngine) Now() transport.Time { return 1 }
func (e *idleEngine) Random() uint64      { return rand.Uint64() }

func (e *idleEngine) Attach(q transport.QP, s Sink) error {
	e.sinks[q] = s
	return nil
}

func (e *idleEngine) Route(transport.QP, netip.Addr) error { return nil }
func (e *idleEngine) Detach(q transport.QP)                { delete(e.sinks, q) }

func (e *idleEngine) Kick(q transport.QP) {
	if e.sinks[q] != nil {
		e.kicked = append(e.kicked, q)
	}
}

func (e *idleEngine) Addresses() *Addresses { return &e.addresses }
func (e *idleEngine) Progress() bool        { return false }
func (e *idleEngine) Wake()                 {}
func (e *idleEngine) Close() error          { return nil }

func (e *idleEngine) WaitProgress(ctx context.Context, until Readiness) error {
	if until.Ready() {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

func (e *idleEngine) Info() EngineInfo {
	return EngineInfo{Name: "idle", Local: netip.MustParseAddr("192.0.2.1"), MTU: 4096, Paths: 8}
}
