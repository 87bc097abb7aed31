package transport

import "github.com/braid-rdma/braid/wire"

// Each direction of an MP connection has two reliable streams of packets: one
// of requests, one of responses. Both are spread, paced and recovered alike and
// share window, paths and round trip; but each has its own PSNs and its own
// bitmap, so that a response never waits for a request before it which the
// peer cannot take yet. An atomic is executed once because its request is
// delivered once.

// streamOf is the stream that a data packet belongs to.
func streamOf(base wire.Opcode) streamID {
	if base.IsReadResponse() || base == wire.AtomicAcknowledge {
		return responses
	}
	return requests
}

// outKind is the kind of an outgoing message.
type outKind uint8

const (
	outRequest outKind = iota
	outReadResponse
	outAtomicResponse
)

// outMessage is a message that has a place in its stream, or waits for one.
type outMessage struct {
	kind    outKind
	sync    bool
	first   seq
	packets uint32
	length  uint32
	msn     uint32
	rkey    wire.RKey // outReadResponse: the key that granted the access
	number  uint64    // outRequest: its number in the send queue
	va      uint64    // outReadResponse: what is read
	value   uint64    // outAtomicResponse: the value before the operation
	request seq       // responses: the request, in the peer's stream
}

// outStream is the sending side of one stream.
type outStream struct {
	una, nxt seq // snd_una, snd_nxt (MP-RDMA §3.2)
	end      seq // one beyond the last packet of the last message that has begun
	ooh      seq // snd_ooh: the highest packet acknowledged (§3.3.2)
	doubtful seq // snd_nxt at a timeout that no acknowledgement has explained; 0: none
	lastSent Time
	since    Time   // snd_una last moved, a response came, or there was nothing outstanding
	retries  uint16 // timeouts since snd_una last moved
	early    uint8  // early retransmissions since the last news
	earlyDue bool   // the tail is overdue
	// messages have begun and are not wholly acknowledged, in order.
	messages fifo[outMessage]
	unacked  ledger
}

// start begins the stream.
func (o *outStream) start(p wire.PSN) {
	o.una, o.nxt, o.end, o.ooh = firstSeq(p), firstSeq(p), firstSeq(p), firstSeq(p)
}

// outstanding says whether packets wait for their acknowledgement.
func (o *outStream) outstanding() bool { return o.una < o.nxt }

// midMessage says whether a message has begun whose packets are not all sent.
func (o *outStream) midMessage() bool { return o.nxt < o.end }

// begin gives a message its place in the stream.
func (o *outStream) begin(m outMessage) {
	m.first = o.end
	o.end += seq(m.packets)
	*o.messages.push() = m
}

// find returns the message that packet s belongs to.
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

// finished takes the oldest message off the stream if all of it lies before `to`.
func (o *outStream) finished(to seq) *outMessage {
	if o.messages.len() == 0 {
		return nil
	}
	if msg := o.messages.at(0); msg.first+seq(msg.packets) > to {
		return nil
	}
	return o.messages.pop()
}

// explainsTimeout says whether the acknowledgement of packet s shows that nothing was
// lost at the last timeout, only late. The first one after a timeout decides: if it
// is for a transmission from before, it was.
func (o *outStream) explainsTimeout(s seq, again bool) bool {
	late := !again && s < o.doubtful
	o.doubtful = 0
	return late
}

// spanOpen says whether the receiver, which tracks so many packets, can track one more.
func (o *outStream) spanOpen(slots uint16) bool { return o.nxt-o.una < seq(slots) }

// stop forgets what was to be sent.
func (o *outStream) stop() {
	o.messages.clear()
	o.una, o.end = o.nxt, o.nxt
}
