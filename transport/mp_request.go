package transport

import "github.com/braid-rdma/braid/wire"

// mpRequests is what the stream of requests has beyond any stream.
type mpRequests struct {
	sq         *sendQueue
	receives   uint32 // messages so far that consume a receive at the peer
	reads      uint32 // READs and atomics so far
	awaiting   fifo[awaited]
	responded  uint32 // READs and atomics that have their response: the number of awaiting's oldest
	rnrRetries uint8  // RNR NAKs since snd_una last moved
	rnrLimit   seq    // beyond the lowest packet that found no receive: what follows waits until it is taken; 0: none
	pausedAt   Time   // the retransmission timeout stands still since then while the peer wants silence; 0: it begins anew
	pausedRTO  Time   // when it would have been due
	syncHold   Time   // synchronise packets sent again wait until then
	syncTries  uint8  // tries of a synchronise operation that were refused since snd_una last moved
}

// awaited is a READ or atomic that has begun and has no response.
type awaited struct {
	number uint64 // in the send queue
	at     seq    // its packet
}

// mpResponses is what the stream of responses has beyond any stream.
type mpResponses struct {
	doubted bool // the peer was told that a response cannot be sent again; it may have it
	toldBy  Path // by this path
	held    bool // and is given until the next timeout to say so
}

// received notes that the peer has taken packet s. A later one than that which
// found no receive says nothing: WRITEs and READs need none.
func (r *mpRequests) received(s seq) {
	if s+1 == r.rnrLimit {
		r.rnrLimit = 0
	}
}

// advanced notes that the peer has taken everything before `to`.
func (r *mpRequests) advanced(to seq) {
	if to >= r.rnrLimit {
		r.rnrLimit = 0
	}
}

// refuse notes that packet s found no receive.
func (r *mpRequests) refuse(s seq) {
	if r.rnrLimit == 0 || s < r.rnrLimit {
		r.rnrLimit = s + 1
	}
}

// holds says whether packet s waits for a receive of an earlier one.
func (r *mpRequests) holds(s seq) bool { return r.rnrLimit != 0 && s >= r.rnrLimit }

// beginNext lets the next message of a stream begin.
func (m *MP) beginNext(now Time, id streamID) bool {
	if id == requests {
		return m.beginRequest(now)
	}
	if m.recv.owed.waiting.len() == 0 {
		return false
	}
	m.out[responses].begin(*m.recv.owed.waiting.pop())
	return true
}

// beginRequest lets the next request begin, in the order of posting, when its
// conditions hold.
func (m *MP) beginRequest(now Time) bool {
	if m.state != RTS || !m.sq.pending() {
		return false
	}
	w := m.sq.wqes.at(m.sq.started)
	o, r := &m.out[requests], &m.req
	switch r.blocked(w, m.attr.Reads, o.outstanding()) {
	case ReasonNone:
	case ReasonSynchronise:
		if !m.syncDue(now, o.lastSent) {
			return false
		}
	default:
		return false
	}
	msg := r.number(w, m.sq.retired+uint64(m.sq.started), o.end, m.attr.MTU)
	w.started = true
	m.sq.started++
	o.begin(msg)
	return true
}

// number makes the message of a request, whose first packet is at, with its place
// in the send queue and its number among those of its kind (§3.1).
func (r *mpRequests) number(w *sendWQE, place uint64, at seq, mtu int) outMessage {
	msg := outMessage{kind: outRequest, number: place, length: w.length, packets: 1, sync: w.Flags&Synchronise != 0}
	if w.Op.awaitsResponse() {
		msg.msn = r.reads & wire.PSNMask
		r.reads++
		*r.awaiting.push() = awaited{place, at}
		return msg
	}
	msg.packets = packetsFor(w.length, mtu)
	msg.msn = r.receives & wire.PSNMask
	if w.Op.consumesReceive() {
		r.receives++
	}
	return msg
}

// blocked says what holds a request back that has not begun: fence, initiator
// depth, or the delay of a synchronise operation.
func (r *mpRequests) blocked(w *sendWQE, depth int, outstanding bool) Reason {
	reads := r.awaiting.len()
	switch {
	case w.Flags&(Fence|Synchronise) != 0 && reads > 0:
		return ReasonFence
	case w.Op.awaitsResponse() && reads >= depth:
		return ReasonInitiatorDepth
	case w.Flags&Synchronise != 0 && outstanding:
		return ReasonSynchronise
	}
	return ReasonNone
}

// hasNew says whether there is new data that could be sent now or soon. An
// operation that waits for its Δt counts: §5.2.5 says that delayed synchronise
// messages go out as a burst, so the acknowledgements that come meanwhile must
// leave the window open. Shrunk by each of them (§3.5, path window reduction), it
// would close as fast as the network drains and make the next Δt the longer.
func (m *MP) hasNew() bool { return m.streamHasNew(requests) || m.streamHasNew(responses) }

func (m *MP) streamHasNew(id streamID) bool {
	if m.out[id].midMessage() {
		return true
	}
	if id == responses {
		return m.recv.owed.waiting.len() > 0
	}
	return m.state == RTS && m.sq.pending()
}

// acknowledged moves snd_una of a stream and finishes the messages that it
// passes. It returns whether it moved.
func (m *MP) acknowledged(now Time, id streamID, to seq) bool {
	o := &m.out[id]
	if to <= o.una {
		return false
	}
	o.retries, o.since = 0, now
	m.loss.advanced(id, to)
	m.settle(now, Nacked)
	if !m.opt.Selective {
		m.count.Acknowledged += uint64(to - o.una)
	}
	o.una = to
	for msg := o.finished(to); msg != nil; msg = o.finished(to) {
		if msg.kind != outRequest {
			m.recv.owed.unfinished--
		} else if w := m.sq.byNumber(msg.number); w != nil && !w.Op.awaitsResponse() {
			w.done = true
		}
	}
	if id == requests {
		m.req.rnrRetries = 0
		m.req.advanced(to)
		m.retire()
	}
	return true
}

// responded finishes the oldest READ or atomic.
func (m *MP) responded(now Time) {
	m.deliveredBefore(now)
	a := *m.req.awaiting.pop()
	m.req.responded++
	if w := m.sq.byNumber(a.number); w != nil {
		w.done = true
	}
	m.retire()
	if m.req.awaiting.len() == 0 {
		m.armAlive(now)
	}
}

// deliveredBefore notes what the response to the oldest READ or atomic says
// besides: the peer executed it when everything before it had arrived. So the
// response acknowledges all that, even if every acknowledgement proper was lost.
func (m *MP) deliveredBefore(now Time) {
	if m.acknowledged(now, requests, m.req.awaiting.at(0).at+1) {
		m.progress(now, requests)
	}
}

// awaited implements awaitedRequests.
func (r *mpRequests) awaited(msn uint32) (w *sendWQE, oldest bool) {
	i := wire.PSN(msn).Sub(wire.PSN(r.responded & wire.PSNMask))
	if i < 0 || i >= r.awaiting.len() {
		return nil, false
	}
	return r.sq.byNumber(r.awaiting.at(i).number), i == 0
}

// awaitsBefore says whether a READ or atomic before s has no response.
func (r *mpRequests) awaitsBefore(s seq) bool { return r.awaiting.len() > 0 && r.awaiting.at(0).at < s }

// awaitsAt says whether s is the request of a READ or atomic that was
// delivered and has no response.
func (r *mpRequests) awaitsAt(s seq) bool {
	for i := range r.awaiting.len() {
		if r.awaiting.at(i).at == s {
			return true
		}
	}
	return false
}
