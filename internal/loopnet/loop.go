package loopnet

import (
	"time"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// Lock implements verbs.Engine.
func (e *engine) Lock() { e.mu.Lock() }

// Unlock implements verbs.Engine: it drives the queue pairs that were kicked.
func (e *engine) Unlock() {
	drove := e.flush()
	e.mu.Unlock()
	if drove {
		// A timer may be armed now that is earlier than what the goroutine
		// sleeps for.
		e.inbox.signal()
	}
}

// flush drives the queue pairs that were kicked and reports whether there were any.
func (e *engine) flush() bool {
	// Driving one queue pair may kick another, so the list grows as it is read.
	for i := 0; i < len(e.kicked); i++ {
		p := e.kicked[i]
		p.kicked = false
		if e.ports[p.qp.Number()] == p {
			e.drive(p)
		}
	}
	drove := len(e.kicked) > 0
	clear(e.kicked)
	e.kicked = e.kicked[:0]
	return drove
}

// run is the engine's goroutine: it serves packets and timers when no thread
// of the program polls.
func (e *engine) run() {
	defer close(e.stopped)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		e.mu.Lock()
		e.round()
		e.flush()
		wait := e.untilTimeout()
		e.mu.Unlock()
		timer.Reset(wait)
		select {
		case <-e.inbox.arrived:
		case <-timer.C:
		case <-e.stop:
			return
		}
	}
}

// round handles what has arrived and the timers that are due. Transmitting is
// left to Unlock.
func (e *engine) round() (busy bool) {
	e.received = e.inbox.take(e.received)
	for i := range e.received {
		e.receive(&e.received[i])
		e.received[i] = frame{}
		busy = true
	}
	now := e.Now()
	for _, p := range e.ports {
		if p.qp.Timeout() <= now {
			p.qp.HandleTimeout(now)
			e.Kick(p.qp)
			busy = true
		}
	}
	return busy
}

// untilTimeout is how long the goroutine may sleep.
func (e *engine) untilTimeout() time.Duration {
	next := transport.Never
	for _, p := range e.ports {
		next = min(next, p.qp.Timeout())
	}
	if next == transport.Never {
		return time.Hour
	}
	return time.Duration(max(next-e.Now(), 0))
}

// receive hands a packet to its queue pair and places its payload.
func (e *engine) receive(f *frame) {
	p := e.ports[f.packet.DestQP]
	if p == nil || p.remote.IsValid() && p.remote != f.from {
		return
	}
	f.packet.AH = 0
	if !p.remote.IsValid() {
		f.packet.AH = e.addresses.Learn(f.from)
	}
	f.packet.Spans = f.packet.Spans[:0]
	if p.qp.HandlePacket(e.Now(), &f.packet) == transport.Place {
		rest := f.payload
		for _, s := range f.packet.Spans {
			rest = rest[copy(s.Bytes(), rest):]
		}
	}
	e.Kick(p.qp)
}

// drive transmits and delivers what a queue pair has.
func (e *engine) drive(p *port) {
	now := e.Now()
	for p.next(now, &e.packet) {
		e.transmit(p)
	}
	var c transport.Completion
	for p.qp.PollCompletion(&c) {
		p.sink.Deliver(&c)
	}
	var ev transport.Event
	for p.qp.PollEvent(&ev) {
		p.sink.Event(&ev)
	}
}

// next polls a packet into a clean slate.
func (p *port) next(now transport.Time, packet *transport.Packet) bool {
	*packet = transport.Packet{Spans: packet.Spans[:0]}
	return p.qp.PollTransmit(now, packet)
}

// transmit copies the packet into the inbox of the engine it is for.
func (e *engine) transmit(p *port) {
	to := p.remote
	if !to.IsValid() {
		to, _ = e.addresses.Addr(e.packet.AH)
		if path, chosen := verbs.PathOfAH(e.packet.AH); chosen {
			e.packet.Path = transport.Path(path % e.network.options.Paths)
		}
	}
	peer := e.network.engineAt(to)
	if peer == nil || !e.network.passes(e.local, to, &e.packet) {
		return
	}
	f := frame{from: e.local, packet: e.packet}
	f.packet.Spans = nil
	for _, s := range e.packet.Spans {
		f.payload = append(f.payload, s.Bytes()...)
	}
	peer.inbox.put(f)
}
