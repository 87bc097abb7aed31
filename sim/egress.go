package sim

import (
	"math/bits"
	"unsafe"
)

// priorities is how many traffic classes there are, as in IEEE 802.1Q.
const priorities = 8

// egress is the sending half of a port: its queues, one per priority, and the
// link that they share. A packet that begins to be sent is as good as arrived:
// one event carries it over the link. A second event, at the end of the
// transmission, is needed only if another packet waits for the link.
//
// What every packet needs comes first and fills two cache lines.
type egress struct {
	node      *node         // that sends
	peer      *ingress      // where packets arrive
	towards   *fabricSwitch // whose ingress that is; nil: a host's
	host      *host         // asked for packets when it is a host's; else nil
	speed     *speed
	shares    *shares // weighted scheduling, at switches; nil: strict
	busyUntil Time
	usual     uint8 // the priority whose queue is the main one
	armed     bool  // an event at busyUntil is pending
	waiting   uint8 // priorities with packets in queues
	paused    uint8 // priorities that the peer has stopped
	abroad    bool  // the peer is in another shard
	_         [3]byte

	main            queue // of the usual priority
	marking         *Marking
	fault           *fault // what is wrong with the link; nil: nothing
	tap             func(at Time, p *packet)
	sent, sentBytes uint64

	others    [priorities]queue // that of the usual priority is not used
	marked    uint64
	dropped   uint64 // by a full buffer
	pauses    uint64 // XOFF received
	offs      uint64 // how often XOFF was sent first
	guard     *guard // of a switch that has stopped the peer; nil: never
	headroom  int32  // of a switch with PFC, for each lossless priority of the peer
	pausedFor Time
	pausedAt  [priorities]Time
	name      string
	nominal   int64    // bits per second
	rate      int64    // now
	rare      *rarely  // what few have; nil: nothing
	reaction  Time     // of the peer, to PFC frames
	_         [24]byte // up to a multiple of two cache lines, which come together
}

// speed is how fast a link is. Links of a kind share it.
type speed struct {
	perByte uint64 // picoseconds, in 2^-16
	delay   Time
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

// speedOf is the speed of a link of a rate, in bits per second, and a delay.
func speedOf(rate int64, delay Time) speed {
	return speed{perByte: (8 * uint64(Second) << 8 / uint64(rate)) << 8, delay: delay}
}

// setRate changes the rate of the link, in bits per second.
func (e *egress) setRate(rate int64) {
	if rate != e.rate {
		s := speedOf(rate, e.speed.delay)
		e.rate, e.speed = rate, &s
	}
}

// serialisation is how long size bytes take.
func (s *speed) serialisation(size int32) Time { return Time(uint64(size) * s.perByte >> 16) }

// queue is the queue of a priority.
func (e *egress) queue(priority uint8) *queue {
	if priority == e.usual {
		return &e.main
	}
	return &e.others[priority]
}

// enqueue puts a packet into the queue of its priority.
func (e *egress) enqueue(p *packet) {
	q := e.queue(p.priority)
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

// awaitEnd lets ended happen at the end of the transmission, once.
func (e *egress) awaitEnd() {
	if !e.armed {
		e.armed = true
		e.node.at(e.busyUntil, ending, unsafe.Pointer(e))
	}
}

// ended is the end of a transmission for which a packet waits.
func (e *egress) ended() {
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
			priority = e.shares.choose(e, w)
		}
		p := e.take(priority)
		if p == nil {
			continue // a queue pair had nothing after all
		}
		if e.shares != nil {
			e.shares.charge(priority, p.size, e.waiting&(1<<priority) != 0)
		}
		return p
	}
}

func (e *egress) take(priority int) *packet {
	if e.waiting&(1<<priority) == 0 {
		return e.host.pull(e, uint8(priority))
	}
	q := e.queue(uint8(priority))
	p := q.pop()
	if q.head == nil {
		e.waiting &^= 1 << priority
	}
	return p
}

// transmit puts a packet on the link.
func (e *egress) transmit(p *packet) {
	n := e.node
	e.busyUntil = n.shard.now + e.speed.serialisation(p.size)
	e.sent++
	e.sentBytes += uint64(p.size)
	if e.host == nil {
		p.ingress.sw.left(p.ingress, e, p)
	}
	arrival := e.busyUntil + e.speed.delay
	if e.tap != nil {
		e.tap(n.shard.now, p)
	}
	if e.fault != nil {
		e.fault.transmit(e, arrival, p)
		return
	}
	e.deliver(arrival, p)
}

// deliver lets a packet arrive at the other end. By which port the switch there
// will send it on is looked up now, when the packet is at hand.
func (e *egress) deliver(at Time, p *packet) {
	p.out = nil
	if e.towards != nil {
		p.out = e.towards.route(p)
	} else if !e.node.shard.events.large {
		p.warmBody() // in a large network it would be gone again
	}
	e.carry(at, p)
}

// carry lets a packet or a PFC frame arrive at the other end.
func (e *egress) carry(at Time, p *packet) {
	p.ingress = e.peer
	if e.abroad {
		e.node.send(at, e.peer.shard(), p)
		return
	}
	e.node.at(at, arriving, unsafe.Pointer(p))
}

// queued is how many bytes wait here.
func (e *egress) queued() (bytes int) {
	for priority := range uint8(priorities) {
		bytes += int(e.queue(priority).bytes)
	}
	return bytes
}
