package sim

import "github.com/braid-rdma/braid/transport"

// packet is a packet on its way through the fabric. It is taken from a pool by
// the sending host, travels by pointer, and returns to the pool of the part of
// the simulation where it ends.
//
// What switches look at comes first and fits one cache line, because a large
// network is a cache miss for each packet and hop.
type packet struct {
	next     *packet  // in a queue, or in the pool
	ingress  *ingress // by which it arrives, or arrived at the switch where it waits
	out      *egress  // by which that switch sends it; nil: it has no route
	to       *conn    // which it is for, if the sender knows; the receiver checks it
	src, dst int32    // host numbers
	size     int32    // bytes on the link, with framing
	sport    uint16
	priority uint8
	pause    pauseFrame
	marked   bool   // ECN: congestion experienced
	ect      bool   // ECN-capable: may be marked
	express  bool   // is in the class of Config.Express
	corrupt  bool   // a link has damaged it: its ICRC is wrong
	quanta   uint16 // of a PFC frame: how long to stop; 0: until XON
	astray   bool   // a switch has flooded it
	*body
}

// body is what only the ends of the way look at. Bodies lie apart, so that the
// rest of many packets is close together.
type body struct {
	spans [inlineSpans]transport.Span
	transport.Packet

	// Verify mode: the payload as it was when the packet was sent.
	payload []byte
	// Wire mode: the packet as bytes.
	bytes []byte
	_     [48]byte // up to a multiple of a cache line
}

// inlineSpans is how many pieces of memory a payload of one packet mostly has.
const inlineSpans = 2

// pauseFrame makes a packet a PFC frame for one priority.
type pauseFrame uint8

const (
	noPause  pauseFrame = iota
	pauseOff            // XOFF: stop sending
	pauseOn             // XON: go on
)

// pool keeps packets that are not on their way.
type pool struct {
	free *packet
	made int // packets that the pool has allocated
}

// slab is how many packets are allocated at a time.
const slab = 64

func (l *pool) take() *packet {
	if l.free == nil {
		l.grow()
	}
	p := l.free
	l.free = p.next
	p.next = nil
	return p
}

func (l *pool) grow() {
	packets, bodies := make([]packet, slab), make([]body, slab)
	for i := range packets {
		b := &bodies[i]
		b.Spans = b.spans[:0]
		packets[i].body = b
		l.put(&packets[i])
	}
	l.made += slab
}

func (l *pool) put(p *packet) {
	p.marked, p.ect, p.express, p.corrupt, p.astray, p.pause = false, false, false, false, false, noPause
	p.ingress, p.out = nil, nil
	p.Spans = p.Spans[:0]
	p.next = l.free
	l.free = p
}

// copyOf makes a second packet like p.
func (l *pool) copyOf(p *packet) *packet {
	q := l.take()
	b := q.body
	b.Spans = append(b.Spans[:0], p.Spans...)
	b.payload = append(b.payload[:0], p.payload...)
	b.bytes = append(b.bytes[:0], p.bytes...)
	spans := b.Spans
	b.Packet = p.Packet
	b.Spans = spans
	*q = *p
	q.next, q.body = nil, b
	return q
}

// damage flips a bit. Where packets have bytes the receiver finds out by the
// ICRC; where they have none it is told.
func (p *packet) damage(d *dice) {
	if len(p.bytes) == 0 {
		p.corrupt = true
		return
	}
	i := d.below(uint32(len(p.bytes)))
	p.bytes[i] ^= 1 << d.below(8)
}
