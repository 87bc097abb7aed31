package transport

import "github.com/braid-rdma/braid/wire"

// exchange is a READ or atomic of the peer: what was asked and, for an atomic,
// what was answered.
type exchange struct {
	op       wire.Opcode
	psn      wire.PSN
	packets  uint32 // of the response
	va       uint64
	rkey     uint32
	length   uint32
	original uint64 // atomic: the value before it
}

// offset is the distance of psn from the first packet of the response; it is
// below packets for those that belong to it.
func (e *exchange) offset(psn wire.PSN) uint32 { return uint32(psn-e.psn) & wire.PSNMask }

// servedRequests remembers the latest READs and atomics, so that duplicates can
// be checked and answered. A peer has no more outstanding than it was granted,
// hence never asks again for one that has left the record.
type servedRequests struct {
	ring []exchange
	next int
	size int
}

func (s *servedRequests) resize(n int) { *s = servedRequests{ring: make([]exchange, n)} }

// add remembers an exchange in the place of the oldest.
func (s *servedRequests) add(e exchange) {
	s.ring[s.next] = e
	s.next = (s.next + 1) % len(s.ring)
	s.size = min(s.size+1, len(s.ring))
}

// find answers the exchange whose response has packet psn, newest first.
func (s *servedRequests) find(psn wire.PSN) *exchange {
	for i := 1; i <= s.size; i++ {
		e := &s.ring[(s.next-i+len(s.ring))%len(s.ring)]
		if e.offset(psn) < e.packets {
			return e
		}
	}
	return nil
}

// answer is the response to one exchange on its way out.
type answer struct {
	exchange
	next  uint32 // READ: the packet to send next
	from  uint32 // READ: the packet that the peer asked to begin with
	fresh bool   // answers the request itself, not a duplicate
}

// answerQueue holds the answers in order of packet numbers, which is the order
// in which the peer can take them. There are few: responder resources bound
// the fresh ones; repeated ones come from the record, which is as long, and are
// here once at most.
type answerQueue struct {
	items []answer
	fresh int
}

func (a *answerQueue) resize(resources int) {
	*a = answerQueue{items: make([]answer, 0, 2*resources)}
}

// push adds the answer to a new request, which is later than all others.
func (a *answerQueue) push(x answer) {
	x.fresh = true
	a.fresh++
	a.items = append(a.items, x)
}

// insert adds the answer to a duplicate at its place.
func (a *answerQueue) insert(x answer) {
	i := 0
	for i < len(a.items) && a.items[i].psn.Before(x.psn) {
		i++
	}
	a.items = append(a.items, answer{})
	copy(a.items[i+1:], a.items[i:])
	a.items[i] = x
}

// pending answers the entry for the exchange that begins at psn, if it has not
// left completely.
func (a *answerQueue) pending(psn wire.PSN) *answer {
	for i := range a.items {
		if a.items[i].psn == psn {
			return &a.items[i]
		}
	}
	return nil
}

// pop removes the first answer.
func (a *answerQueue) pop() {
	if a.items[0].fresh {
		a.fresh--
	}
	n := copy(a.items, a.items[1:])
	a.items = a.items[:n]
}

// transmitAcknowledgement yields the ACK or NAK that is due. It waits behind
// the answers to READs and atomics, since answers leave in the order of the
// requests (IBTA 9.7.5.1).
func (q *RC) transmitAcknowledgement(p *Packet) bool {
	r := &q.resp
	if len(r.answers.items) > 0 {
		return false
	}
	switch {
	case r.nak != 0:
		q.fillAck(p, r.nakPSN, r.nak)
		if r.nak.IsRNR() {
			q.count.RNRNaksSent++
		} else {
			q.count.NaksSent++
		}
		// A NAK acknowledges everything before it.
		r.nak, r.ackDue = 0, false
		return true
	case r.ackDue:
		// One ACK answers all requests up to the latest executed (IBTA 9.7.5.1.2).
		q.fillAck(p, r.expected.Add(-1), wire.AckSyndrome(wire.NoCredit))
		q.count.AcksSent++
		r.ackDue = false
		return true
	}
	return false
}

func (q *RC) fillAck(p *Packet, psn wire.PSN, syndrome wire.Syndrome) {
	p.Length, p.Spans = 0, p.Spans[:0]
	q.fillBTH(p, wire.Acknowledge, psn)
	p.AETH = wire.AETH{Syndrome: syndrome, MSN: q.resp.msn}
}

// transmitResponse yields the next packet of the first answer. READ responses
// obey the sending rate; the answer to an atomic is an acknowledgement.
func (q *RC) transmitResponse(now Time, p *Packet) bool {
	r := &q.resp
	if len(r.answers.items) == 0 {
		return false
	}
	a := &r.answers.items[0]
	p.AETH = wire.AETH{Syndrome: wire.AckSyndrome(wire.NoCredit), MSN: r.msn}
	if a.op != wire.ReadRequest {
		p.Length, p.Spans = 0, p.Spans[:0]
		q.fillBTH(p, wire.AtomicAcknowledge, a.psn)
		p.AtomicAck.Original = a.original
		q.finishAnswer(a)
		return true
	}
	// The key is looked at with every packet: it may have ended since the READ was
	// accepted, and a response may be 2 GiB long.
	span, ok := q.resolve(&wire.RETH{VA: a.va, RKey: a.rkey, Length: a.length}, RemoteRead)
	if !ok {
		return q.denyResponse(p, a)
	}
	if !q.paceOpen(now) {
		return false
	}
	q.fillReadResponse(p, a, span)
	q.paced(now, p)
	if a.next++; a.next == a.packets {
		q.finishAnswer(a)
	}
	return true
}

func (q *RC) fillReadResponse(p *Packet, a *answer, span Span) {
	mtu := uint32(q.attr.MTU)
	done := a.next * mtu
	n := min(mtu, a.length-done)
	p.Length, p.Spans = int(n), p.Spans[:0]
	if n > 0 {
		p.Spans = append(p.Spans, Span{span.Region, span.Offset + uint64(done), n})
	}
	q.fillBTH(p, readSegments.opcode(a.next-a.from, a.packets-a.from), a.psn.Add(int(a.next)))
}

// finishAnswer removes an answer that has left completely. If it was for the
// latest request it has acknowledged all others too.
func (q *RC) finishAnswer(a *answer) {
	r := &q.resp
	if a.psn.Add(int(a.packets)) == r.expected {
		r.ackDue = false
	}
	r.answers.pop()
}

// denyResponse ends the response to a READ whose memory may not be read any
// more, and says whether p is a packet to send.
//
// A READ that was accepted and not answered ends the connection (IBTA 9.9.3):
// the answers behind it can not follow, and the NAK is sent in their place. The
// response to a duplicate gets a NAK too, but the connection goes on: if the
// peer had its answer, the duplicate is only late, and the peer ignores a NAK
// for what is complete; if not, it asks again until it has the NAK.
func (q *RC) denyResponse(p *Packet, a *answer) bool {
	psn := a.psn.Add(int(a.next))
	if a.fresh {
		q.resp.answers.items = q.resp.answers.items[:0]
		q.close(wire.NakRemoteAccess, psn)
		return false
	}
	q.resp.answers.pop()
	q.fillAck(p, psn, wire.NakRemoteAccess)
	q.count.NaksSent++
	q.count.AccessErrors++
	return true
}
