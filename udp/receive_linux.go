package udp

import (
	"encoding/binary"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/wire"
)

const ecnMarked = 3 // CE

// roundMessages is how much a round receives before answers go out: about a
// sixth of the largest window at the largest packets. Each path is answered by a
// system call of its own, so under load a receiver gains by answering less often.
const roundMessages = 12

// receive takes from the socket what has arrived and handles it, until the socket
// is drained. For a thread of the application it stops as soon as something has
// been delivered, because that may be what the thread waits for.
func (e *engine) receive(now transport.Time, forApp bool) (worked, delivered bool) {
	e.rounds++
	// The addresses take turns in being first, since a delivery ends the round.
	first := e.rounds
	for i := range e.addrs {
		a := e.addrs[(first+uint64(i))%uint64(len(e.addrs))]
		if len(e.addrs) > 1 && a.rx.cold(e.rounds, coldEvery) {
			continue
		}
		some, delivered := e.receiveAt(a, now, forApp)
		worked = worked || some
		if delivered {
			return true, true
		}
	}
	return worked, false
}

// receiveAt is receive for one address.
func (e *engine) receiveAt(a *address, now transport.Time, forApp bool) (worked, delivered bool) {
	for total := 0; total < roundMessages; {
		asked := a.rx.ask
		n := e.receiveBatch(now, a, a.rx)
		worked = worked || n > 0
		total += n
		if forApp && n > 0 && e.deliverAll() {
			return true, true
		}
		if n < asked {
			break
		}
	}
	return worked, false
}

// receiveBatch handles what one call takes from a socket and returns the number of messages.
func (e *engine) receiveBatch(now transport.Time, a *address, rx *rxSocket) int {
	n, err := rx.recv()
	if err != nil {
		e.stats.ReceiveErrors++
		return 0
	}
	if n == 0 {
		return 0
	}
	rx.arrived = e.rounds
	if e.arrivals.wanted {
		now = e.arrivals.begin()
	}
	for i := range n {
		m := rx.message(i)
		if m.dropped > 0 {
			e.noteDropped(rx == a.management, m.dropped)
		}
		e.handleRun(now, a, m)
	}
	return n
}

// handleRun handles a datagram, or a run of datagrams that the kernel joined.
func (e *engine) handleRun(now transport.Time, a *address, m rxMessage) {
	e.packet.Marked = m.ecn == ecnMarked
	if e.arrivals.wanted {
		e.arrivals.arrived(m.stamp, now)
	}
	data := m.data
	for index := 0; len(data) > 0; index++ {
		n := min(m.segment, len(data))
		e.handlePacket(now, a, data[:n], &m, index)
		data = data[n:]
	}
}

// noteDropped counts packets that the kernel has dropped.
func (e *engine) noteDropped(management bool, n uint32) {
	if management {
		e.stats.FloodDropped += uint64(n)
		e.intake.missed(n)
	} else {
		e.stats.SocketOverflow += uint64(n)
	}
}

// handlePacket checks one packet and gives it to its queue pair. What is not
// whole, not addressed to us or not from the peer is dropped and counted.
func (e *engine) handlePacket(now transport.Time, a *address, b []byte, m *rxMessage, index int) {
	if g := a.group; g != nil && g.crowded.Load() && e.handedOver(g, b, m, index) {
		return
	}
	e.handleOwn(now, a, b, m, index)
}

// handedOver brings a packet to the device that it is for, if that is another one at the same address.
func (e *engine) handedOver(g *group, b []byte, m *rxMessage, index int) bool {
	if len(b) < wire.BTHLen {
		return false
	}
	handed, lost := g.elsewhere(b, m, index)
	if handed {
		e.stats.PacketsHandedOver++
		if wire.ManagementQPN == destQP(b) {
			e.intake.took()
		}
	}
	if lost {
		e.stats.HandoverDropped++
	}
	return handed
}

// destQP is the queue pair that a packet is for.
func destQP(packet []byte) wire.QPN {
	return wire.QPN(binary.BigEndian.Uint32(packet[4:]) & 0xffffff)
}

// handleOwn is handlePacket for what is for this device, if for any.
func (e *engine) handleOwn(now transport.Time, a *address, b []byte, m *rxMessage, index int) {
	e.stats.PacketsReceived++
	if e.capture != nil {
		e.captureReceived(a, b, m)
	}
	payload, ok := e.parse(b)
	if !ok {
		return
	}
	if e.packet.DestQP == wire.ManagementQPN {
		e.intake.took()
	}
	p := e.portOf(a, m)
	if p == nil || !e.whole(a, b, m, index) || e.faults.active && e.faults.dropsArrival(e, &e.packet) {
		return
	}
	if e.packet.Opcode == wire.NetworkProbe {
		if p.watcher != nil && !e.faults.dropsProbe(e, p, payload) {
			p.watcher.Probed(uint32(e.packet.PSN))
		}
		return
	}
	if p.peer == nil {
		e.packet.AH = e.addresses.Learn(m.src.Addr())
		e.use(m.src.Addr(), a)
	}
	e.handOver(now, p, payload)
}

// parse reads the headers of a packet into the scratch packet.
func (e *engine) parse(b []byte) (payload []byte, ok bool) {
	if len(b) < wire.BTHLen+wire.ICRCLen {
		e.stats.Malformed++
		return nil, false
	}
	payload, err := wire.ParseHeaders(b[:len(b)-wire.ICRCLen], &e.packet.Headers)
	if err != nil {
		e.stats.Malformed++
		return nil, false
	}
	return payload, true
}

// whole checks the ICRC.
func (e *engine) whole(a *address, b []byte, m *rxMessage, index int) bool {
	if a.checker.valid(b, m.src, e.packet.Opcode.IsMP(), index) {
		return true
	}
	e.stats.BadICRC++
	return false
}

// handOver gives the scratch packet to its queue pair.
func (e *engine) handOver(now transport.Time, p *port, payload []byte) {
	packet := &e.packet
	packet.Length = len(payload)
	packet.Spans = packet.Spans[:0]
	e.notePrompt(now, p)
	if !packet.Opcode.IsRequest() {
		p.silence.Replied()
	}
	e.noteActive(now, p)
	verdict := p.qp.HandlePacket(now, packet)
	if verdict == transport.Place {
		place(packet.Spans, payload)
	}
	if e.arrivals.wanted {
		e.arrivals.of(p).handled(e.arrivals.packet, p.unacknowledged, verdict)
	}
	e.touch(p)
}

// portOf finds the queue pair that the packet is for.
func (e *engine) portOf(a *address, m *rxMessage) *port {
	p := e.last
	if p == nil || p.qp.Number() != e.packet.DestQP {
		if p = e.ports[e.packet.DestQP]; p == nil {
			e.stats.UnknownQP++
			return nil
		}
		e.last = p
	}
	if !e.admits(p, a, m) {
		return nil
	}
	return p
}

// admits says whether the packet may be one for a queue pair. A connected queue pair
// takes packets of nobody but its peer, and at no other address than the one that it sends from.
func (e *engine) admits(p *port, a *address, m *rxMessage) bool {
	packet := &e.packet
	if packet.PKey|0x8000 != wire.DefaultPKey {
		e.stats.BadPKey++
		return false
	}
	datagram := packet.Opcode == wire.UDSendOnly || packet.Opcode == wire.UDSendOnlyImm
	if p.peer == nil && datagram {
		return true
	}
	if p.peer == nil || datagram || p.peer.addr != m.src.Addr() || p.peer.at != a {
		e.stats.WrongSource++
		return false
	}
	return true
}

// place copies the payload to where the transport decided.
func place(spans []transport.Span, payload []byte) {
	for _, s := range spans {
		n := copy(s.Bytes(), payload)
		payload = payload[n:]
	}
}

// epochTime is the window over which queue pairs count as active.
const epochTime = 10 * transport.Millisecond

// noteActive shares the receive buffer between the queue pairs that use it:
// each is told its part, so that nobody sends what the kernel would drop.
func (e *engine) noteActive(now transport.Time, p *port) {
	if now >= e.epochEnd {
		e.epoch++
		e.active, e.counting = e.counting, 0
		e.epochEnd = now + epochTime
	}
	if p.epoch == e.epoch {
		return
	}
	p.epoch = e.epoch
	e.counting++
	at := e.own
	if p.peer != nil {
		at = p.peer.at // where packets may be much shorter than the device's longest
	}
	w := max(4, at.window()/max(1, e.active, e.counting))
	if w != p.window {
		p.window = w
		p.qp.SetWindow(w)
	}
}
