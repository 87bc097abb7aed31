package udp

import (
	"unsafe"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
	"github.com/braid-rdma/braid/wire"
)

const (
	// turnPackets bounds what one queue pair sends before the next has its turn:
	// sixteen full segmented messages of the largest packets, a run on each of four
	// paths.
	turnPackets = 240
	// flushMessages is how many full segmented messages are gathered before they are
	// handed to the kernel, so that the receiver works while the sender goes on.
	flushMessages = 4
	// copyBelow is the payload up to which copying into the batch is cheaper than
	// one more piece for the kernel to gather.
	copyBelow = 128
	// shortPacket divides acknowledgements from packets with data.
	shortPacket = 64
)

// drive serves the queue pairs that have something to do: transmit, deliver
// completions and events, note the timer. A queue pair with more to send than
// its turn allows, or than the kernel takes, stays in the list.
func (e *engine) drive(now transport.Time) {
	e.kicked = false
	todo := len(e.dirty)
	for i := 0; i < todo; i++ {
		p := e.dirty[i]
		p.dirty = false
		more := e.transmit(now, p)
		e.deliver(p)
		e.timers.set(p, p.qp.Timeout())
		if more {
			e.touch(p)
		}
	}
	e.dirty = e.dirty[:copy(e.dirty, e.dirty[todo:])]
	e.flush()
}

// transmit sends what the queue pair has, and returns whether there may be more.
func (e *engine) transmit(now transport.Time, p *port) (more bool) {
	for range turnPackets {
		if p.way != nil && !p.way.Room() {
			p.qp.HandleBackpressure(now)
			return false // it asks for more when it has room
		}
		if !e.batch.room() {
			if e.flush(); !e.batch.room() {
				p.qp.HandleBackpressure(now)
				return true
			}
		}
		e.packet.Spans = e.packet.Spans[:0]
		if !p.qp.PollTransmit(now, &e.packet) {
			return false
		}
		e.notePrompt(now, p)
		e.encode(p, &e.packet)
		if e.batch.ripe(flushMessages) {
			e.flush()
		}
	}
	return true
}

// deliverAll hands out what has completed and returns whether anything had.
func (e *engine) deliverAll() bool {
	any := false
	for _, p := range e.dirty {
		any = e.deliver(p) || any
	}
	return any
}

// deliver hands completions and events to the queue pair's owner, and returns
// whether there were completions.
func (e *engine) deliver(p *port) (any bool) {
	if p.unacknowledged {
		e.flush() // the kernel must have the payload, or the batch a copy of it
	}
	for p.qp.PollCompletion(&e.completion) {
		if e.arrivals.wanted {
			e.arrivals.delivered = e.arrivals.of(p).of(&e.completion, e.arrivals.flushed, e.Now())
		}
		p.sink.Deliver(&e.completion)
		any = true
	}
	for p.qp.PollEvent(&e.event) {
		p.sink.Event(&e.event)
	}
	return any
}

// flush hands the batch to the kernel. What the kernel does not take stays
// queued: a full socket buffer or device queue is back-pressure, not loss.
func (e *engine) flush() {
	if e.batch.backlog() == 0 {
		return
	}
	if e.arrivals.wanted {
		e.arrivals.flushed = e.Now()
	}
	r := e.batch.flush()
	e.stats.PacketsSent += uint64(r.sent)
	e.stats.SendDropped += uint64(r.dropped)
	if r.queued > 0 {
		e.stats.Backpressure++
		e.keepQueued()
	}
}

// keepQueued copies the payload of what the kernel did not take. It goes out
// later, when the program may have deregistered the memory, or had its
// completion and changed the bytes that the ICRC was computed over.
func (e *engine) keepQueued() {
	b := e.batch
	if e.kept == nil {
		e.kept = make([][]byte, len(b.slots))
	}
	for _, path := range b.active {
		for i := b.queues[path].head; i != noSlot; i = b.slots[i].next {
			// A message of one piece lies in the batch's own memory, or is kept already.
			if slot := &b.slots[i]; slot.pieces > 1 {
				e.kept[i] = slot.gather(e.kept[i])
			}
		}
	}
}

// gather makes one piece of a message, in buf if that is large enough, and
// returns its memory. The message takes no further packet.
func (s *txSlot) gather(buf []byte) []byte {
	if cap(buf) < s.bytes {
		buf = make([]byte, maxMessage)
	}
	buf = buf[:0]
	for i := range s.iovecs[:s.pieces] {
		buf = append(buf, unsafe.Slice(s.iovecs[i].Base, int(s.iovecs[i].Len))...)
	}
	clear(s.iovecs[:s.pieces])
	s.pieces, s.closed, s.endsInArena = 0, true, false
	s.append(&buf[0], len(buf))
	return buf
}

// wayOf is the virtual path of a packet and the source port that it takes, which are
// one number but for the paths that probing has moved to another port. Management
// datagrams take turns: each may repeat what another path has lost, and a path may be
// dead. Others take the path of their address handle, if it has one.
func (e *engine) wayOf(p *port, packet *transport.Packet) (path, source int) {
	switch {
	case p.mp:
		return within(int(packet.Path), e.cfg.Paths), within(int(packet.Source), len(e.pool.sockets))
	case packet.DestQP == wire.ManagementQPN:
		path = int(packet.PSN) % e.cfg.Paths
		return path, path
	case p.peer == nil:
		if path, chosen := verbs.PathOfAH(packet.AH); chosen {
			path %= e.cfg.Paths
			return path, path
		}
	}
	return p.path, p.path
}

// within is i modulo n, without a division where i is less, as it mostly is.
func within(i, n int) int {
	if i < n {
		return i
	}
	return i % n
}

// encode adds a packet to the batch, or gives it to the way that the queue pair's packets take.
func (e *engine) encode(p *port, packet *transport.Packet) {
	if p.way != nil {
		e.divert(p, packet)
		return
	}
	to := p.peer
	if packet.Opcode == wire.UDSendOnly || packet.Opcode == wire.UDSendOnlyImm {
		to = e.datagramPeer(packet)
	}
	path, source := e.wayOf(p, packet)
	if to == nil || e.faults.drops(e, path) {
		return
	}
	headers := packet.Headers.Len()
	pad := int(wire.PadLen(packet.Length))
	length := headers + packet.Length + pad + wire.ICRCLen
	segment, ok := e.batch.begin(source, to.dst, partOf(packet.DestQP), length)
	if !ok {
		e.stats.SendDropped++ // cannot be: transmit made sure of room
		return
	}
	prefix := e.prefix(to, source, p.mp, length, segment)
	var head, tail []byte
	if packet.Length <= copyBelow {
		head, tail = e.encodeShort(prefix, packet, headers, pad)
	} else {
		head, tail = e.encodeLong(prefix, packet, headers, pad)
	}
	if e.faults.active {
		e.faults.damage(e, path, tail)
	}
	if e.capture != nil {
		e.captureSent(packet, segment, head, tail)
	}
}

// encodeShort writes a packet into the batch in one piece, which is what its ICRC is computed over.
func (e *engine) encodeShort(prefix wire.ICRC, packet *transport.Packet, headers, pad int) (head, tail []byte) {
	all := e.batch.header(headers + packet.Length + pad + wire.ICRCLen)
	packet.Headers.Append(all[:0])
	end := headers
	for _, span := range packet.Spans {
		end += copy(all[end:], span.Bytes())
	}
	clear(all[end : end+pad])
	end += pad
	wire.AppendICRC(all[:end], prefix.Whole(all[:end]).Sum())
	return all[:headers], all[headers+packet.Length:]
}

// encodeLong leaves the payload where it is, from where the kernel takes it.
func (e *engine) encodeLong(prefix wire.ICRC, packet *transport.Packet, headers, pad int) (head, tail []byte) {
	head = e.batch.header(headers)
	packet.Headers.Append(head[:0])
	sum := prefix.Headers(head)
	for _, span := range packet.Spans {
		b := span.Bytes()
		e.batch.payload(b)
		sum = sum.Payload(b)
	}
	tail = e.batch.header(pad + wire.ICRCLen)
	clear(tail[:pad])
	sum = sum.Payload(tail[:pad])
	wire.AppendICRC(tail[:pad], sum.Sum())
	return head, tail
}

// prefix is the ICRC over the packet's IP and UDP headers.
func (e *engine) prefix(to *peer, source int, mp bool, length, segment int) wire.ICRC {
	both := to.prefixes[source]
	if both == nil {
		both = new([2]prefixCache)
		to.prefixes[source] = both
	}
	cache := &both[min(length/shortPacket, 1)]
	if mp && cache.length == length && e.capture == nil {
		return cache.multi
	}
	e.flow = flow{src: to.at.ip, dst: to.addr, sport: e.pool.socket(source).local.Port(), dport: e.cfg.Port}
	if mp {
		return cache.forMulti(&e.flow, length)
	}
	return cache.forSingle(&e.flow, length, segment)
}

// datagramPeer finds where a datagram goes; nil when its address was destroyed
// or cannot be reached.
func (e *engine) datagramPeer(packet *transport.Packet) *peer {
	addr, ok := e.addresses.Addr(packet.AH)
	if !ok {
		e.stats.NoAddress++
		return nil
	}
	to, err := e.peerOf(addr)
	if err != nil {
		e.stats.NoAddress++
		return nil
	}
	return to
}
