package transport

import "github.com/braid-rdma/braid/wire"

// Each direction of an MP connection is one reliable stream of packets that
// carries requests and responses alike. A READ response is thus spread, paced
// and recovered like any data, and an atomic is executed once because its
// request is delivered once.

// outKind is the kind of an outgoing message.
type outKind uint8

const (
	outRequest outKind = iota
	outReadResponse
	outAtomicResponse
)

// outMessage is a message that has a place in the stream, or waits for one.
type outMessage struct {
	kind    outKind
	sync    bool
	first   seq
	packets uint32
	length  uint32
	msn     uint32
	number  uint64 // outRequest: its number in the send queue
	span    Span   // outReadResponse: what is read
	value   uint64 // outAtomicResponse: the value before the operation
	asked   seq    // responses: the request, in the peer's stream
}

// awaited is a READ or atomic that has begun and is not answered.
type awaited struct {
	number uint64 // in the send queue
	at     seq    // its packet
}

// outStream is the sending side of the stream.
type outStream struct {
	una, nxt seq // snd_una, snd_nxt (MP-RDMA §3.2)
	end      seq // one beyond the last packet of the last message that has begun
	// messages have begun and are not wholly acknowledged, in order.
	messages fifo[outMessage]
	// responses wait to begin; they go before requests, which depend on them.
	responses fifo[outMessage]
	// unfinishedResponses counts responses in both queues.
	unfinishedResponses int
	receives            uint32 // messages so far that consume a receive at the peer
	reads               uint32 // READs and atomics so far
	awaiting            fifo[awaited]
	answered            uint32 // READs and atomics answered so far: the number of awaiting's oldest
	lastSent            Time
}

// start begins the stream. Responses to requests that came before we may send
// wait in it already.
func (o *outStream) start(p wire.PSN) {
	o.una, o.nxt, o.end = firstSeq(p), firstSeq(p), firstSeq(p)
}

// midMessage says whether a message has begun whose packets are not all sent.
func (o *outStream) midMessage() bool { return o.nxt < o.end }

// begin gives a message its place in the stream.
func (o *outStream) begin(m outMessage) {
	m.first = o.end
	o.end += seq(m.packets)
	*o.messages.push() = m
}

// find answers the message that packet s belongs to.
func (o *outStream) find(s seq) *outMessage {
	lo, hi := 0, o.messages.len()
	if last := o.messages.at(hi - 1); last.first <= s {
		return last // new packets are of the last message
	}
	for hi-lo > 1 {
		mid := (lo + hi) / 2
		if o.messages.at(mid).first <= s {
			lo = mid
		} else {
			hi = mid
		}
	}
	return o.messages.at(lo)
}

// beginNext lets the next message begin: responses first, then requests in the
// order of posting, each when its conditions hold.
func (m *MP) beginNext(now Time) bool {
	o := &m.out
	if o.responses.len() > 0 {
		o.begin(*o.responses.pop())
		return true
	}
	if m.state != RTS || !m.sq.pending() {
		return false
	}
	w := m.sq.wqes.at(m.sq.started)
	if !m.mayBegin(now, w) {
		return false
	}
	msg := outMessage{kind: outRequest, number: m.sq.retired + uint64(m.sq.started), length: w.length, packets: 1}
	msg.sync = w.Flags&Synchronise != 0
	switch {
	case w.Op.awaitsResponse():
		msg.msn = o.reads & wire.PSNMask
		o.reads++
		*o.awaiting.push() = awaited{msg.number, o.end}
	default:
		msg.packets = packetsFor(w.length, m.attr.MTU)
		msg.msn = o.receives & wire.PSNMask
		if w.Op.consumesReceive() {
			o.receives++
		}
	}
	w.started, w.psn = true, o.end.psn()
	m.sq.started++
	o.begin(msg)
	return true
}

// mayBegin checks what may hold a request back: fence, initiator depth and
// the delay of a synchronise operation.
func (m *MP) mayBegin(now Time, w *sendWQE) bool {
	reads := m.out.awaiting.len()
	if w.Flags&(Fence|Synchronise) != 0 && reads > 0 {
		return false
	}
	if w.Op.awaitsResponse() && reads >= m.attr.Reads {
		return false
	}
	if w.Flags&Synchronise != 0 && m.out.una < m.out.nxt {
		return m.syncDue(now, m.out.lastSent)
	}
	return true
}

// hasNew says whether there is new data that could be sent now or soon. An
// operation that waits for its Δt counts: §5.2.5 says that delayed synchronise
// messages go out as a burst, so the acknowledgements that come meanwhile must
// leave the window open. Shrunk by each of them (§3.5, path window reduction), it
// would close as fast as the network drains and make the next Δt the longer.
func (m *MP) hasNew() bool {
	return m.out.midMessage() || m.out.responses.len() > 0 || m.state == RTS && m.sq.pending()
}

// acknowledged moves snd_una and finishes the messages that it passes.
func (m *MP) acknowledged(to seq) {
	o := &m.out
	from := o.una
	if to <= from {
		return
	}
	m.progressed, m.retries = true, 0
	if to > m.rnrAt {
		m.rnrRetries = 0
	}
	m.recover.advanced(from, to)
	if !m.opt.Selective {
		m.count.Acknowledged += uint64(to - from)
	}
	o.una = to
	for o.messages.len() > 0 {
		msg := o.messages.at(0)
		if msg.first+seq(msg.packets) > to {
			break
		}
		if msg.kind != outRequest {
			o.unfinishedResponses--
		} else if w := m.sq.byNumber(msg.number); w != nil && !w.Op.awaitsResponse() {
			w.done = true
		}
		o.messages.pop()
	}
	m.retire()
}

// answeredRead finishes the oldest READ or atomic. The peer executed it when
// everything before it had arrived, so the response acknowledges all that, even
// if every acknowledgement proper was lost.
func (m *MP) answeredRead() {
	a := *m.out.awaiting.pop()
	m.out.answered++
	m.acknowledged(a.at + 1)
	if w := m.sq.byNumber(a.number); w != nil {
		w.done = true
	}
	m.retire()
}
