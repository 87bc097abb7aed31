package transport

import (
	"bytes"
	"fmt"
)

// A queue pair takes its own receives in the order of messages, and so does RC with
// those of a shared queue. MP claims a shared receive when data of a message comes,
// in whatever order that is; so the model learns which message has which receive
// from the first bytes that are placed into it, or from its completion if there are
// none.

// reception is one receive request.
type reception struct {
	index    int
	offset   int // in the sink
	capacity int
	spans    []Span
	op       *operation // of the peer: the message that it takes; nil: not known yet
	h        *host
	gate     *gate // what must have completed before it is posted; nil: nothing
	done     bool  // it has completed,
	arrived  bool  // and its message is there
}

// longestClaimed bounds the messages of a scenario in which each receive must have
// room for every one of them.
const longestClaimed = 20000

// claims says whether any message may take any receive.
func (s *scenario) claims() bool { return s.shared && !s.rc }

// arrived says whether a message has been received.
func (o *operation) arrived() bool { return o.recv != nil && o.recv.arrived }

// planReceptions prepares as many receives as the peer will send messages.
func (l *workload) planReceptions(messages []*operation, sinkAt func(n int) int) {
	longest := 0
	for _, m := range messages {
		longest = max(longest, m.length)
	}
	for i, m := range messages {
		slack := 0
		if chance(l.rng, 0.5) {
			slack = l.rng.IntN(100)
		}
		r := &reception{h: l.h, index: i, capacity: m.length + slack}
		switch {
		case l.h.w.sc.claims():
			r.capacity = longest + slack
		case m.kind == OpWriteImm:
			r.capacity = slack
			fallthrough
		default:
			r.op, m.recv = m, r
		}
		r.offset = sinkAt(r.capacity)
		l.recvs = append(l.recvs, r)
	}
}

// checkReceives checks a placement into a receive: it is posted and not complete, and
// takes the bytes of no other message than its own (P1).
func (h *host) checkReceives(e *extent, p *Packet, s *Span) {
	r := e.recv
	if r.index >= h.work.recvPosted || r.done {
		h.fail("placement into receive %d, of %d that are posted, completed: %v", r.index, h.work.recvPosted, r.done)
	}
	if h.mp == nil {
		return // its packets do not say which message they are of
	}
	if !p.Opcode.Base().IsSend() || int(p.MP.MSN) >= len(h.model.messages) {
		h.fail("%v of message %d is placed into receive %d", p.Opcode, p.MP.MSN, r.index)
	}
	h.pair(r, h.model.messages[p.MP.MSN])
	e.op, e.length = r.op, r.op.length
	if int(s.Offset)+int(s.Length) > e.offset+e.length {
		h.fail("placement beyond the %d bytes of a message: offset %d, %d bytes", e.length, int(s.Offset)-e.offset, s.Length)
	}
}

// pair notes that a receive takes a message; neither has another.
func (h *host) pair(r *reception, o *operation) {
	if r.op == nil && o.recv == nil {
		r.op, o.recv = o, r
	}
	if r.op != o || o.recv != r {
		h.fail("receive %d takes message %d, but it has %s, and the message has %s", r.index, o.message, r.describePair(), o.recv.describe())
	}
}

func (r *reception) describePair() string {
	if r.op == nil {
		return "none"
	}
	return fmt.Sprintf("message %d", r.op.message)
}

func (r *reception) describe() string {
	if r == nil {
		return "no receive"
	}
	return fmt.Sprintf("receive %d", r.index)
}

// checkReceived checks a completion of the receive queue: receives complete in the
// order of messages, each once (P2).
func (h *host) checkReceived(c *Completion) {
	l := &h.work
	if c.WRID >= uint64(l.recvPosted) || l.recvs[c.WRID].done {
		h.fail("receive %d completed, which is not posted: %d are, %d completed", c.WRID, l.recvPosted, l.recvDone)
	}
	r := l.recvs[c.WRID]
	if !h.w.sc.claims() && r.index != l.recvDone {
		h.fail("receive %d completed, expected %d of %d", c.WRID, l.recvDone, l.recvPosted)
	}
	r.done = true
	l.recvDone++
	if c.Status != Success {
		if c.Status != WRFlushErr || h.qp.State() != Err {
			h.fail("receive %d: %v in state %v", c.WRID, c.Status, h.qp.State())
		}
		return
	}
	o := h.model.messages[l.recvDone-1]
	h.pair(r, o)
	r.arrived = true
	want := Completion{WRID: c.WRID, Op: OpRecv, QPN: c.QPN, Bytes: uint32(o.length), Solicited: o.flags&Solicited != 0}
	switch o.kind {
	case OpWriteImm:
		want.Op = OpRecvWriteImm
		fallthrough
	case OpSendImm:
		want.HasImm, want.Imm = true, o.imm
	case OpSendInv:
		want.HasInv, want.InvalidatedRKey = true, o.key
	}
	if *c != want {
		h.fail("receive %d: %+v, want %+v", c.WRID, *c, want)
	}
	h.checkBefore(o, "order of delivery")
	if got, want := h.peer().result(o); !bytes.Equal(got, want) {
		h.fail("receive %d delivered wrong bytes", c.WRID)
	}
	// What the message does not fill stays as it was.
	rest := h.model.sink.Bytes[r.offset : r.offset+r.capacity]
	if o.kind.isSend() {
		rest = rest[o.length:]
	}
	h.checkZero(rest, "the rest of a receive")
}

// checkReceivesLeft checks that, after the end, each receive has completed or is
// still in the shared queue.
func (h *host) checkReceivesLeft() {
	left := 0
	if h.srq != nil {
		left = h.srq.Len()
	}
	if h.work.recvDone+left != h.work.recvPosted {
		h.fail("%d of %d receives completed, %d are left", h.work.recvDone, h.work.recvPosted, left)
	}
}
