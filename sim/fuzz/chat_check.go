package fuzz

import (
	"bytes"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// chatObserver sees where the payload of every datagram goes.
type chatObserver struct {
	transport.QP
	end *chatEnd
}

// HandlePacket lets the queue pair decide, and judges it: a datagram goes to the
// oldest receive, behind the room for the network header.
func (o *chatObserver) HandlePacket(now transport.Time, p *transport.Packet) transport.Verdict {
	e := o.end
	verdict := o.QP.HandlePacket(now, p)
	if verdict == transport.Drop {
		e.checkDropped(p)
		return verdict
	}
	oldest := e.recvTaken
	e.recvTaken++
	if verdict != transport.Place {
		return verdict
	}
	if len(p.Spans) != 1 || oldest >= e.recvPosted || int(p.Spans[0].Length) != p.Length || !e.sink.backs(p.Spans[0].Region) {
		e.fail("a datagram of %d bytes goes to %d places, with receive %d of %d the next", p.Length, len(p.Spans), oldest, e.recvPosted)
	}
	if at, want := int(p.Spans[0].Offset), e.sink.extents[oldest].offset+verbs.GRHLength; at != want {
		e.fail("a datagram goes to offset %d, and receive %d has room for it at %d", at, oldest, want)
	}
	return verdict
}

// checkDropped checks that a datagram is dropped only for a wrong key, or because
// no receive is left: copies of earlier ones may have taken them.
func (e *chatEnd) checkDropped(p *transport.Packet) {
	index := p.PSN.Sub(e.peer().firstPSN)
	switch {
	case index < 0 || index >= len(e.starved):
		e.fail("a datagram with the packet number %d comes, and the peer sends %d from %d on", p.PSN, len(e.starved), e.peer().firstPSN)
	case e.peer().ops[index].stray:
	case e.recvTaken < e.recvPosted:
		e.fail("datagram %d is dropped when %d of %d receives are taken", index, e.recvTaken, e.recvPosted)
	default:
		e.starved[index] = true
	}
}

func (w *world) dispatchChat(host, number, side int, c *verbs.Completion) {
	if number >= len(w.chats) || w.chats[number].ends[side].host != host {
		w.fail("host %d has a completion of request %#x, which is not its own", host, c.WRID)
	}
	e := w.chats[number].ends[side]
	if c.QPN != e.qp.Number() {
		e.fail("a completion of request %#x names queue pair %v", c.WRID, c.QPN)
	}
	if c.WRID&idReceive != 0 {
		e.checkReceived(c)
		return
	}
	e.checkSent(c)
}

// checkSent checks that datagrams complete once and in order, and that they do not
// fail.
func (e *chatEnd) checkSent(c *verbs.Completion) {
	index := int(c.WRID & idIndex)
	if index < e.completed || index >= e.posted {
		e.fail("datagram %d completes when %d have completed and %d are posted", index, e.completed, e.posted)
	}
	for _, q := range e.ops[e.completed:index] {
		if e.signals(q) {
			e.fail("datagram %d completes before datagram %d", index, q.index)
		}
	}
	o := e.ops[index]
	if c.Status != transport.Success || c.Op != o.kind || int(c.Bytes) != o.length || !e.signals(o) {
		e.fail("datagram %d, a %v of %d bytes: %+v", index, o.kind, o.length, *c)
	}
	e.completed = index + 1
	e.pump()
}

// checkReceived checks that what came is a datagram that the peer has sent.
func (e *chatEnd) checkReceived(c *verbs.Completion) {
	index := int(c.WRID & idIndex)
	if index != e.recvDone || index >= e.recvPosted || c.Status == transport.Success && index >= e.recvTaken {
		e.fail("receive %d completes, expected %d of %d", index, e.recvDone, e.recvPosted)
	}
	e.recvDone++
	if c.Status == transport.WRFlushErr && e.w.closed {
		return
	}
	o := e.match(c)
	if o == nil {
		e.fail("receive %d holds what nobody sent: %+v", index, *c)
	}
	if o.stray {
		e.fail("datagram %d was received with a wrong key", o.index)
	}
	if e.arrived[o.index]++; e.arrived[o.index] > 1 && !e.w.sc.doubles() {
		e.fail("datagram %d came twice", o.index)
	}
	from, err := e.w.hosts[e.host].pd.AddrOf(c.Source)
	if p := e.peer(); err != nil || from != p.qp.Params().Addr || c.SrcQP != p.qp.Number() {
		e.fail("receive %d is from %v, queue pair %v: %v", index, from, c.SrcQP, err)
	}
	x := e.sink.extents[index]
	used := verbs.GRHLength + o.length
	if !bytes.Equal(e.sink.at(x.offset+used, x.length-used), e.sink.before[margin+x.offset+used:][:x.length-used]) {
		e.fail("the rest of receive %d was written", index)
	}
	e.w.later(e.host, e.lately, e.postReceive)
}

// match finds the datagram that a completion is of. Where several are equal it takes
// the one that came least often.
func (e *chatEnd) match(c *verbs.Completion) (found *operation) {
	p := e.peer()
	at := e.sink.extents[c.WRID&idIndex].offset + verbs.GRHLength
	for _, o := range p.ops[:p.posted] {
		want := verbs.Completion{
			WRID: c.WRID, Op: verbs.OpRecv, QPN: c.QPN, Bytes: uint32(verbs.GRHLength + o.length),
			SrcQP: c.SrcQP, Source: c.Source, Solicited: o.flags&verbs.Solicited != 0,
		}
		if o.kind == verbs.OpSendImm {
			want.HasImm, want.Imm = true, o.imm
		}
		if *c != want || !bytes.Equal(e.sink.at(at, o.length), p.source.at(o.source, o.length)) {
			continue
		}
		if found == nil || found.stray && !o.stray || found.stray == o.stray && e.arrived[o.index] < e.arrived[found.index] {
			found = o
		}
	}
	return found
}

// doubles says whether the network may deliver a packet twice.
func (s *scenario) doubles() bool {
	for _, f := range s.faults {
		if f.impairment.Duplicate > 0 {
			return true
		}
	}
	return false
}

// checkEnd checks, when all is quiet, that nothing but receives was written to; and,
// if nothing stood in the way of a datagram, that all have come.
func (c *chat) checkEnd() {
	dropped := uint64(0)
	for _, l := range c.w.net.Links() {
		dropped += l.Dropped + l.Lost + l.Damaged
	}
	for _, e := range c.ends {
		if !bytes.Equal(e.source.backing, e.source.before) {
			e.fail("the memory that datagrams were sent from was changed")
		}
		e.checkSink()
		if dropped != 0 {
			continue
		}
		e.checkArrived()
	}
}

// checkArrived checks that every datagram has come or found no receive. Datagrams
// with equal bytes cannot be told apart by what has come, so they are counted.
func (e *chatEnd) checkArrived() {
	missing, starved, last := 0, 0, 0
	for i, times := range e.arrived {
		if times == 0 && !e.peer().ops[i].stray {
			missing, last = missing+1, i
		}
		if e.starved[i] {
			starved++
		}
	}
	if missing > starved {
		e.fail("%d datagrams, the last of them %d, did not come, and only %d found no receive", missing, last, starved)
	}
}

// checkSink checks that receives which were not taken, and the memory between
// receives, are as they were.
func (e *chatEnd) checkSink() {
	from := 0
	unchanged := func(to int) {
		if !bytes.Equal(e.sink.backing[from:to], e.sink.before[from:to]) {
			e.fail("memory between the offsets %d and %d was changed, where nobody has business", from-margin, to-margin)
		}
	}
	for _, x := range e.sink.extents[:e.recvDone] {
		unchanged(margin + x.offset)
		from = margin + x.offset + x.length
	}
	unchanged(len(e.sink.backing))
}
