package transport

import "github.com/braid-rdma/braid/wire"

// exchange is a READ or atomic of the peer: what was asked and, for an atomic,
// the result.
type exchange struct {
	op       wire.Opcode
	psn      wire.PSN
	packets  uint32 // of the response
	va       uint64
	rkey     wire.RKey
	length   uint32
	original uint64 // atomic: the value before it
}

// offset is the distance of psn from the first packet of the response; it is
// below packets for those that belong to it.
func (e *exchange) offset(psn wire.PSN) uint32 { return uint32(psn-e.psn) & wire.PSNMask }

// servedRequests remembers the latest READs and atomics, so that duplicates can
// be checked and responded to. A peer has no more outstanding than it was granted,
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

// find returns the exchange whose response has packet psn, newest first.
func (s *servedRequests) find(psn wire.PSN) *exchange {
	for i := 1; i <= s.size; i++ {
		e := &s.ring[(s.next-i+len(s.ring))%len(s.ring)]
		if e.offset(psn) < e.packets {
			return e
		}
	}
	return nil
}

// response is the response to one exchange on its way out.
type response struct {
	exchange
	next  uint32 // READ: the packet to send next
	from  uint32 // READ: the packet that the peer asked to begin with
	fresh bool   // it is to the request itself, not to a duplicate
}

// responseQueue holds the responses in order of packet numbers, which is the
// order in which the peer can take them. There are few: responder resources bound
// the fresh ones; repeated ones come from the record, which is as long, and are
// here once at most.
type responseQueue struct {
	items []response
	fresh int
}

func (q *responseQueue) resize(resources int) {
	*q = responseQueue{items: make([]response, 0, 2*resources)}
}

// push adds the response to a new request, which is later than all others.
func (q *responseQueue) push(x response) {
	x.fresh = true
	q.fresh++
	q.items = append(q.items, x)
}

// insert adds the response to a duplicate at its place.
func (q *responseQueue) insert(x response) {
	i := 0
	for i < len(q.items) && q.items[i].psn.Before(x.psn) {
		i++
	}
	q.items = append(q.items, response{})
	copy(q.items[i+1:], q.items[i:])
	q.items[i] = x
}

// pending returns the entry for the exchange that begins at psn, if it has not
// left completely.
func (q *responseQueue) pending(psn wire.PSN) *response {
	for i := range q.items {
		if q.items[i].psn == psn {
			return &q.items[i]
		}
	}
	return nil
}

// pop removes the first response.
func (q *responseQueue) pop() {
	if q.items[0].fresh {
		q.fresh--
	}
	n := copy(q.items, q.items[1:])
	q.items = q.items[:n]
}

// transmitAcknowledgement yields the ACK or NAK that is due. It waits behind
// the responses to READs and atomics, since all leave in the order of the
// requests (IBTA 9.7.5.1).
func (q *RC) transmitAcknowledgement(p *Packet) bool {
	r := &q.resp
	if len(r.responses.items) > 0 {
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
		// One ACK is for all requests up to the latest executed (IBTA 9.7.5.1.2).
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
	p.BECN, q.cnp.inAck = q.cnp.inAck, false
	p.AETH = wire.AETH{Syndrome: syndrome, MSN: q.resp.msn}
}

// transmitResponse yields the next packet of the first response. Those to READs
// obey the sending rate; that to an atomic is an acknowledgement.
func (q *RC) transmitResponse(now Time, p *Packet) bool {
	r := &q.resp
	if len(r.responses.items) == 0 {
		return false
	}
	x := &r.responses.items[0]
	p.AETH = wire.AETH{Syndrome: wire.AckSyndrome(wire.NoCredit), MSN: r.msn}
	if x.op != wire.ReadRequest {
		p.Length, p.Spans = 0, p.Spans[:0]
		q.fillBTH(p, wire.AtomicAcknowledge, x.psn)
		p.AtomicAck.Original = x.original
		q.finishResponse(x)
		return true
	}
	// The key is looked at with every packet: it may have ended since the READ was
	// accepted, and a response may be 2 GiB long.
	span, ok := q.resolve(&wire.RETH{VA: x.va, RKey: x.rkey, Length: x.length}, RemoteRead)
	if !ok {
		return q.refuseResponse(p, x)
	}
	if !q.paceOpen(now) {
		return false
	}
	q.fillReadResponse(p, x, span)
	q.paced(now, p)
	if x.next++; x.next == x.packets {
		q.finishResponse(x)
	}
	return true
}

func (q *RC) fillReadResponse(p *Packet, x *response, span Span) {
	mtu := uint32(q.attr.MTU)
	done := x.next * mtu
	n := min(mtu, x.length-done)
	p.Length, p.Spans = int(n), p.Spans[:0]
	if n > 0 {
		p.Spans = append(p.Spans, Span{span.Region, span.Offset + uint64(done), n})
	}
	q.fillBTH(p, readSegments.opcode(x.next-x.from, x.packets-x.from), x.psn.Add(int(x.next)))
}

// finishResponse removes a response that has left completely. If it was for the
// latest request it has acknowledged all others too.
func (q *RC) finishResponse(x *response) {
	r := &q.resp
	if x.psn.Add(int(x.packets)) == r.expected {
		r.ackDue = false
	}
	r.responses.pop()
}

// refuseResponse ends the response to a READ whose memory may not be read any
// more, and says whether p is a packet to send.
//
// For the first response to a READ that ends the connection (IBTA 9.9.3): those
// behind it can not follow, and the NAK is sent in their place. A duplicate is
// refused with a NAK too, but the connection goes on: if the peer had its
// response, the duplicate is only late, and the peer ignores a NAK for what is
// complete; if not, it asks again until it has the NAK.
func (q *RC) refuseResponse(p *Packet, x *response) bool {
	psn := x.psn.Add(int(x.next))
	if x.fresh {
		q.resp.responses.items = q.resp.responses.items[:0]
		q.close(wire.NakRemoteAccess, psn)
		return false
	}
	q.resp.responses.pop()
	q.fillAck(p, psn, wire.NakRemoteAccess)
	q.count.NaksSent++
	q.count.AccessErrors++
	return true
}
