package fuzz

import (
	"encoding/binary"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// observer sees where the payload of every packet goes.
type observer struct {
	transport.QP
	end *end
}

// HandlePacket lets the queue pair decide, and judges it.
func (o *observer) HandlePacket(now transport.Time, p *transport.Packet) transport.Verdict {
	verdict := o.QP.HandlePacket(now, p)
	if verdict == transport.Place {
		o.end.checkPlacement(p)
	}
	return verdict
}

// PollTransmit looks at what leaves.
func (o *observer) PollTransmit(now transport.Time, p *transport.Packet) bool {
	if !o.QP.PollTransmit(now, p) {
		return false
	}
	o.end.checkLeaving(p)
	o.end.checkTurns(now, o.QP, p)
	return true
}

// checkPlacement checks that every byte of a payload has business where it goes
// (P1), comes there once, and not before what it has to wait for.
func (e *end) checkPlacement(p *transport.Packet) {
	total := 0
	for _, s := range p.Spans {
		total += int(s.Length)
		if shared := e.w.hosts[e.host].receives; e.shared && shared.memory.backs(s.Region) {
			shared.checkPlacement(e, s)
			continue
		}
		m := e.memoryOf(s.Region)
		if m == nil {
			e.fail("a payload goes into a region that nobody writes to")
		}
		x := m.find(int(s.Offset), int(s.Length))
		if x == nil || x.writer == nil || x.op == nil {
			e.fail("a payload of %d bytes goes to offset %d, where no operation points", s.Length, s.Offset)
		}
		o := x.op
		if m == &e.window && e.revoked || o.stray && o.lease != nil {
			e.fail("bytes of %v %d are placed by a key that is ended", o.kind, o.index)
		}
		if o.kind == verbs.OpRead {
			o.placed += int(s.Length) // may be read again after a loss
			continue
		}
		if int(s.Offset)+int(s.Length) > o.target+o.length {
			e.fail("%v %d of %d bytes writes beyond its end", o.kind, o.index, o.length)
		}
		if o.placed += int(s.Length); o.placed > o.length {
			e.fail("bytes of %v %d are placed twice", o.kind, o.index)
		}
		x.writer.checkWaits(o)
	}
	if total != p.Length {
		e.fail("a payload of %d bytes goes to places of %d", p.Length, total)
	}
}

func (e *end) memoryOf(region *transport.Region) *memory {
	for _, m := range []*memory{&e.window, &e.sink} {
		if m.backs(region) {
			return m
		}
	}
	for _, m := range e.leases {
		if m.backs(region) {
			return m
		}
	}
	return nil
}

// backs says whether a region is this memory.
func (m *memory) backs(region *transport.Region) bool {
	return region.Base == m.mr.Addr() && region.LKey == m.mr.LKey()
}

// checkWaits checks, when bytes of an operation of this end arrive, that those
// which it has to follow have happened.
func (e *end) checkWaits(o *operation) {
	for _, q := range e.ops[:o.index] {
		switch {
		case o.flags&verbs.Synchronise != 0 && !q.awaitsResponse() && q.placed < q.length:
			// MP-RDMA §3.4: memory is updated only after all previous operations.
			e.fail("synchronise: %v %d takes effect when %v %d has %d of %d bytes", o.kind, o.index, q.kind, q.index, q.placed, q.length)
		case o.flags&(verbs.Fence|verbs.Synchronise) != 0 && q.awaitsResponse() && !e.answered(q):
			e.fail("fence: %v %d takes effect when %v %d is not answered", o.kind, o.index, q.kind, q.index)
		}
	}
}

// answered says whether all of the response to a READ or an atomic is there.
func (e *end) answered(o *operation) bool {
	if o.isAtomic() {
		return o.ended || binary.NativeEndian.Uint64(e.sink.at(o.target, 8)) == o.original
	}
	return o.placed >= o.length
}
