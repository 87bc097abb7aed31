package sim

import "math/bits"

// priorities is how many traffic classes there are, as in IEEE 802.1Q.
const priorities = 8

// egress is the sending half of a port: its queues, one per priority, and the
// link that they share. A packet that begins to be sent is as good as arrived:
// one event carries it over the link. A second event, at the end of the
// transmission, is needed only if another packet waits for the link.
//
// The fields that every packet needs come first; with the queues they fill few
// cache lines.
type egress struct {
	node      *node    // that sends
	peer      *ingress // where packets arrive
	there     *shard   // the peer's
	host      *host    // asked for packets when it is a host's; else nil
	perByte   uint64   // picoseconds per byte, in 2^-16
	delay     Time
	busyUntil Time
	armed     bool  // an event at busyUntil is pending
	waiting   uint8 // priorities with packets in queues
	paused    uint8 // priorities that the peer has stopped

	marking *Marking
	shares  *shares // weighted scheduling; nil: strict
	fault   *fault  // what is wrong with the link; nil: nothing
	tap     func(at Time, p *packet)
	egressCounts
	queues [priorities]queue

	pauses    uint64 // XOFF heard
	pausedFor Time
	pausedAt  [priorities]Time
	name      string
	nominal   int64   // bits per second
	rate      int64   // now
	rare      *rarely // what few have; nil: nothing
	_         [8]byte // up to a multiple of a cache line
}

// egressCounts is what an egress counts for each packet.
type egressCounts struct {
	sent, sentBytes uint64
	marked          uint64
	dropped         uint64 // by a full buffer
}

// queue is a chain of packets of one priority.
type queue struct {
	head, tail *packet
	bytes      int32
	peak       int32
}

func (q *queue) push(p *packet) {
	if q.head == nil {
		q.head = p
	} else {
		q.tail.next = p
	}
	q.tail = p
	q.bytes += p.size
}

func (q *queue) pop() *packet {
	p := q.head
	q.head = p.next
	p.next = nil
	q.bytes -= p.size
	return p
}

// setRate changes the speed of the link, in bits per second.
func (e *egress) setRate(rate int64) {
	e.rate = rate
	e.perByte = (8 * uint64(Second) << 8 / uint64(rate)) << 8
}

// serialisation is how long size bytes take.
func (e *egress) serialisation(size int32) Time { return Time(uint64(size) * e.perByte >> 16) }

// enqueue puts a packet into the queue of its priority.
func (e *egress) enqueue(p *packet) {
	q := &e.queues[p.priority]
	q.push(p)
	e.waiting |= 1 << p.priority
	q.peak = max(q.peak, q.bytes)
	e.start()
}

// start sends the next packet if the link is free, else sees to it that it will
// be sent when the link is.
func (e *egress) start() {
	if e.node.shard.now < e.busyUntil {
		e.awaitEnd()
		return
	}
	p := e.next()
	if p == nil {
		return
	}
	e.transmit(p)
	if e.wanting() != 0 {
		e.awaitEnd()
	}
}

// awaitEnd lets act happen at the end of the transmission, once.
func (e *egress) awaitEnd() {
	if !e.armed {
		e.armed = true
		e.node.at(e.busyUntil, e, nil)
	}
}

// act is the end of a transmission for which a packet waits.
func (e *egress) act(*packet) {
	e.armed = false
	e.start()
}

// wanting are the priorities that have something to send and may.
func (e *egress) wanting() uint8 {
	w := e.waiting
	if e.host != nil {
		w |= e.host.wanting
	}
	return w &^ e.paused
}

// next takes the packet to send, or nil.
func (e *egress) next() *packet {
	for {
		w := e.wanting()
		if w == 0 {
			return nil
		}
		priority := bits.Len8(w) - 1
		if e.shares != nil {
			priority = e.shares.choose(w)
		}
		p := e.take(priority)
		if p == nil {
			continue // a queue pair had nothing after all
		}
		if e.shares != nil {
			e.shares.charge(priority, p.size)
		}
		return p
	}
}

func (e *egress) take(priority int) *packet {
	if e.waiting&(1<<priority) == 0 {
		return e.host.pull(e, uint8(priority))
	}
	q := &e.queues[priority]
	p := q.pop()
	if q.head == nil {
		e.waiting &^= 1 << priority
	}
	return p
}

// transmit puts a packet on the link.
func (e *egress) transmit(p *packet) {
	n := e.node
	e.busyUntil = n.shard.now + e.serialisation(p.size)
	e.sent++
	e.sentBytes += uint64(p.size)
	if in := p.ingress; in != nil {
		in.sw.left(in, p)
		p.ingress = nil
	}
	arrival := e.busyUntil + e.delay
	if e.tap != nil {
		e.tap(n.shard.now, p)
	}
	if e.fault != nil {
		e.fault.transmit(e, arrival, p)
		return
	}
	n.send(arrival, e.there, e.peer, p)
}

// queued is how many bytes wait here.
func (e *egress) queued() (bytes int) {
	for i := range e.queues {
		bytes += int(e.queues[i].bytes)
	}
	return bytes
}
