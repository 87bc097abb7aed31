package transport

import "bytes"

// receive hands a packet to the queue pair and moves its payload, checking that
// every byte has business where it goes.
func (h *host) receive(c *parcel) {
	p := &h.packet
	p.Headers, p.Path, p.Marked, p.Length = c.headers, c.path, c.marked, len(c.payload)
	p.Spans = p.Spans[:0]
	// A packet may fill the gap before a SEND that ends its own key.
	ended := h.model.keys.window.ended
	verdict := h.qp.HandlePacket(h.w.now, p)
	if h.w.trace != nil {
		h.w.logf("%s <- %s %v", h.name, describePacket(p), [...]string{"drop", "done", "place"}[verdict])
	}
	if verdict == Place {
		h.place(p, c.payload, ended)
	}
}

// place copies a payload (P1: no byte outside its target, none twice).
func (h *host) place(p *Packet, payload []byte, ended bool) {
	if n := totalLength(p.Spans); n != uint64(len(payload)) {
		h.fail("%d bytes of payload for spans of %d", len(payload), n)
	}
	for _, s := range p.Spans {
		extents := h.model.windowExtents
		switch s.Region {
		case h.model.window:
			if ended {
				h.fail("bytes are placed by a key that has ended")
			}
		case h.model.sink:
			extents = h.model.sinkExtents
		default:
			h.fail("placement into a region that nobody writes to")
		}
		if s.Region.Invalid || s.Offset+uint64(s.Length) > s.Region.Length {
			h.fail("placement outside a region: offset %d, %d bytes", s.Offset, s.Length)
		}
		e := find(extents, int(s.Offset), int(s.Length))
		if e == nil {
			h.fail("placement where no operation points: offset %d, %d bytes", s.Offset, s.Length)
		}
		if e.recv != nil {
			h.checkReceives(e, p, &s)
		}
		payload = payload[copy(s.Bytes(), payload):]
		h.notePlaced(e.op, int(s.Length))
	}
}

// notePlaced counts bytes that reached their target. MP-RDMA §3.4: those of a
// synchronise operation only after all of the operations before it.
func (h *host) notePlaced(o *operation, n int) {
	if o.kind == OpRead {
		return // may be read again after a loss
	}
	if o.placed += n; o.placed > o.length {
		h.fail("bytes of %v %d placed twice", o.kind, o.index)
	}
	if o.flags&Synchronise != 0 {
		h.checkBefore(o, "synchronise")
	}
}

// checkBefore checks that everything that the peer sent before o has arrived.
func (h *host) checkBefore(o *operation, why string) {
	for _, q := range h.peer().work.ops[:o.index] {
		if !q.kind.awaitsResponse() && q.placed < q.length {
			h.fail("%s: %v %d took effect before %v %d, of which %d of %d bytes are there", why, o.kind, o.index, q.kind, q.index, q.placed, q.length)
		}
	}
}

// checkCompletion checks P2 and P3: once, in order, with the right status, and
// not before the effect.
func (h *host) checkCompletion(c *Completion) {
	if c.Op >= OpRecv {
		h.checkReceived(c)
		return
	}
	l := &h.work
	if l.completed > int(c.WRID) || int(c.WRID) >= l.posted {
		h.fail("completion of request %d, when %d are complete and %d posted", c.WRID, l.completed, l.posted)
	}
	o := l.ops[c.WRID]
	for _, q := range l.ops[l.completed:c.WRID] {
		if q.signaled(h.w.sc) || h.failed {
			h.fail("request %d completed before request %d", c.WRID, q.index)
		}
		h.checkEffect(q)
	}
	l.completed = int(c.WRID) + 1
	if c.Op != o.kind {
		h.fail("request %d is a %v, completed as %v", c.WRID, o.kind, c.Op)
	}
	if c.Status != Success {
		h.checkFailure(c)
		return
	}
	if h.failed {
		h.fail("request %d completed well after a failure", c.WRID)
	}
	if !o.signaled(h.w.sc) || int(c.Bytes) != o.length {
		h.fail("request %d of %d bytes completed with %d, signaled %v", c.WRID, o.length, c.Bytes, o.signaled(h.w.sc))
	}
	h.checkEffect(o)
}

// checkEffect checks that a completed operation has happened.
func (h *host) checkEffect(o *operation) {
	h.checkKey(o)
	if o.kind.isAtomic() {
		if v := nativeUint64(h.model.sink.Bytes[o.target:]); v != o.original {
			h.fail("%v %d answered %#x, want %#x", o.kind, o.index, v, o.original)
		}
		return
	}
	if o.kind.isSend() && o.message >= h.peer().work.recvPosted {
		h.fail("%v %d completed without a receive", o.kind, o.index)
	}
	if got, want := h.result(o); !bytes.Equal(got, want) {
		h.fail("%v %d completed, but %d of its %d bytes are placed or bytes differ", o.kind, o.index, o.placed, o.length)
	}
}

// checkTransmit checks a packet that leaves.
func (h *host) checkTransmit(p *Packet) {
	if n := totalLength(p.Spans); n != uint64(p.Length) || p.Length > h.w.sc.attr[h.index].MTU || int(p.Pad) != -p.Length&3 {
		h.fail("packet of length %d with spans of %d, pad %d", p.Length, n, p.Pad)
	}
	if int(p.Path) >= h.w.sc.paths {
		h.fail("packet for path %d of %d", p.Path, h.w.sc.paths)
	}
	if p.DestQP != h.w.sc.attr[h.index].RemoteQPN {
		h.fail("packet for queue pair %#x", p.DestQP)
	}
	h.checkTurns(p)
	h.checkLeaving(p)
}

// checkStep checks what must hold after every step (P6: counters conserve).
func (h *host) checkStep() {
	h.checkFrozen()
	if h.mp == nil {
		return
	}
	if err := conserves(h.mp); err != nil {
		h.fail("%v", err)
	}
}
