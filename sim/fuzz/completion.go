package fuzz

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// checkSent checks a completion of the send queue: once, in order, with the right
// status (P2), and not before its effect (P3).
func (e *end) checkSent(c *verbs.Completion) {
	index := int(c.WRID & idIndex)
	if index < e.completed || index >= e.posted {
		e.fail("request %d completes when %d have completed and %d are posted", index, e.completed, e.posted)
	}
	for _, q := range e.ops[e.completed:index] {
		if e.signals(q) || e.failed {
			e.fail("request %d completes before request %d", index, q.index)
		}
		e.checkEffect(q)
		q.ended = true
	}
	e.completed = index + 1
	o := e.ops[index]
	o.ended = true
	if c.Op != o.kind {
		e.fail("request %d is a %v and completes as %v", index, o.kind, c.Op)
	}
	if c.Status != transport.Success {
		e.checkFailed(o, c)
		return
	}
	if e.failed {
		e.fail("request %d completes well after another has failed", index)
	}
	if !e.signals(o) || int(c.Bytes) != o.length {
		e.fail("request %d of %d bytes completes with %d, signaled %v", index, o.length, c.Bytes, e.signals(o))
	}
	e.checkEffect(o)
	e.pump()
	e.w.openGates(e.host)
}

// checkFailed checks that a failure is one that the faults explain: the retries
// run out, and everything behind is flushed.
func (e *end) checkFailed(o *operation, c *verbs.Completion) {
	o.failed = true
	defer e.w.openAllGates()
	want := transport.WRFlushErr
	if !e.failed {
		e.failed = true
		want = e.firstFailure(o, c.Status)
		if p := e.peer(); p.shared {
			e.w.hosts[p.host].receives.makeUp(p)
		}
	}
	if c.Status != want {
		e.fail("%v %d: %v, want %v", o.kind, o.index, c.Status, want)
	}
}

// firstFailure is the status that the first request of this end to fail must have, if
// it fails with status: the retries run out, a key is ended, or this end has refused
// the peer.
func (e *end) firstFailure(o *operation, status transport.Status) transport.Status {
	switch {
	case status == transport.RemAccessErr && e.trespasses(o):
		return transport.RemAccessErr
	case status == transport.WRFlushErr && (e.excluded() || e.respondsInVain() || e.doubted(o)):
		return transport.WRFlushErr
	case !e.w.sc.harsh() && !e.lossInStep(o) && !e.peer().failed && !e.peer().excluded():
		e.fail("%v %d: %v, though nothing lasted that long", o.kind, o.index, status)
	}
	return transport.RetryExcErr
}

// lossInStep says whether every retry of a READ may have lost the same packet. An
// RC responder sends all that is left of a response in one go, so a link that
// loses every n-th packet can take the first of it each time.
func (e *end) lossInStep(o *operation) bool {
	if o.kind != verbs.OpRead || e.qp.Type() != verbs.RC {
		return false
	}
	for _, f := range e.w.sc.faults {
		if n := f.impairment.LossEvery; n > 0 && o.length > n*transport.MinMTU {
			return true
		}
	}
	return false
}

// respondsInVain says whether the connection may have ended because this end's
// responses were not acknowledged for as long as the retries last: over MP they are
// sent again like requests, and when they fail no request of this end is to blame.
func (e *end) respondsInVain() bool {
	p := e.peer()
	asked := slices.ContainsFunc(p.ops[:p.posted], func(o *operation) bool { return o.awaitsResponse() })
	return e.talkSpec.qp.Type == verbs.MP && e.w.sc.harsh() && asked
}

// doubted says whether the connection may have ended while nothing of this end was outstanding: over MP a peer that
// does not know whether its response has arrived, and cannot send it again because the key has ended, says so
// until it gives up. If that is all it says for long enough it is taken to be gone.
func (e *end) doubted(o *operation) bool {
	responded := slices.ContainsFunc(e.ops[:o.index], func(q *operation) bool { return q.kind == verbs.OpRead })
	return e.talkSpec.qp.Type == verbs.MP && e.w.sc.harsh() && o.late && responded
}

// checkEffect checks that what has completed has happened.
func (e *end) checkEffect(o *operation) {
	if o.stray && o.lease != nil {
		e.fail("%v %d has completed with a key that is ended", o.kind, o.index)
	}
	if o.isAtomic() {
		if v := binary.NativeEndian.Uint64(e.sink.at(o.target, 8)); v != o.original {
			e.fail("%v %d answered %#x, want %#x", o.kind, o.index, v, o.original)
		}
		return
	}
	if o.takesReceive() && (e.shared && o.slot == nil || !e.shared && o.message >= e.peer().recvPosted) {
		e.fail("%v %d completed without a receive", o.kind, o.index)
	}
	if got, want := e.result(o); !bytes.Equal(got, want) {
		e.fail("%v %d has completed, but %d of its %d bytes are placed, or they differ", o.kind, o.index, o.placed, o.length)
	}
}

// result returns the bytes at the target of an operation, and what they must be.
func (e *end) result(o *operation) (got, want []byte) {
	p := e.peer()
	switch {
	case o.kind == verbs.OpRead:
		return e.sink.at(o.target, o.length), p.window.at(o.remote, o.length)
	case o.slot != nil && o.isSend():
		return e.w.hosts[p.host].receives.memory.at(o.slot.offset, o.length), e.source.at(o.source, o.length)
	case o.isSend():
		return p.sink.at(o.target, o.length), e.source.at(o.source, o.length)
	}
	return e.remoteMemory(o).at(o.target, o.length), e.source.at(o.source, o.length)
}

// checkReceived checks a completion of the receive queue.
func (e *end) checkReceived(c *verbs.Completion) {
	index := int(c.WRID & idIndex)
	if index != e.recvDone || e.recvDone >= e.recvPosted {
		e.fail("receive %d completes, expected %d of %d", index, e.recvDone, e.recvPosted)
	}
	e.recvDone++
	if c.Status != transport.Success {
		if c.Status != transport.WRFlushErr || e.qp.State() != verbs.Err {
			e.fail("receive %d: %v in state %v", index, c.Status, e.qp.State())
		}
		return
	}
	e.checkMessage(e.recvs[index], c)
	e.w.later(e.host, e.lately, e.postReceive)
	e.w.openGates(e.host)
}

// checkMessage checks the completion of a message of the peer that has come.
func (e *end) checkMessage(o *operation, c *verbs.Completion) {
	want := verbs.Completion{WRID: c.WRID, Op: verbs.OpRecv, QPN: e.qp.Number(), Bytes: uint32(o.length), Solicited: o.flags&verbs.Solicited != 0}
	if o.kind == verbs.OpWriteImm {
		want.Op = verbs.OpRecvWriteImm
	}
	switch o.kind {
	case verbs.OpSendInv:
		want.HasInv, want.InvalidatedRKey = true, o.lease.key
	case verbs.OpSendImm, verbs.OpWriteImm:
		want.HasImm, want.Imm = true, o.imm
	}
	if *c != want {
		e.fail("receive %d: %+v, want %+v", o.message, *c, want)
	}
	p := e.peer()
	for _, q := range p.ops[:o.index] {
		if !q.awaitsResponse() && q.placed < q.length {
			e.fail("receive %d is delivered when %v %d before it has %d of %d bytes", o.message, q.kind, q.index, q.placed, q.length)
		}
	}
	if got, want := p.result(o); !bytes.Equal(got, want) {
		e.fail("receive %d has %d of %d bytes, or they differ", o.message, o.placed, o.length)
	}
}

// checkMemory checks, at the end, every byte of the memory of an end (P1).
func (e *end) checkMemory() {
	for _, m := range []struct {
		name string
		*memory
	}{{"source", &e.source}, {"sink", &e.sink}, {"window", &e.window}} {
		if at := m.untouched(); at >= 0 {
			e.fail("the %s of %d bytes was changed at offset %d, where nobody has business", m.name, m.size, at)
		}
	}
	for _, m := range e.leases {
		if at := m.untouched(); at >= 0 {
			e.fail("leased memory was changed at offset %d, where nobody has business", at)
		}
	}
	p := e.peer()
	for _, o := range p.ops {
		if o.ended && !o.failed && !o.isAtomic() {
			p.checkEffect(o)
		}
		if o.isSend() && !e.shared {
			rest := e.sink.at(o.target+o.length, o.spare)
			if len(bytes.Trim(rest, string([]byte{guard}))) != 0 {
				e.fail("the rest of the receive of %v %d was written", o.kind, o.index)
			}
		}
	}
	v := binary.NativeEndian.Uint64(e.window.at(e.counter, 8))
	if e.revoked && v != e.frozen {
		e.fail("an atomic changed the number to %#x after its key had ended", v)
	}
	if !p.failed && v != e.value {
		e.fail("after all atomics the number is %#x, want %#x", v, e.value)
	}
}

// checkBooks checks that the counters of a queue pair add up (P6), where the
// transport keeps a record of every transmission.
func (e *end) checkBooks() {
	info := e.qp.Query()
	if info.Type != verbs.MP || !info.Options.MP.Selective {
		return
	}
	if s := e.qp.Stats(); s.PacketsSent != s.Acknowledged+s.Lost+uint64(info.Flow.InFlight) {
		e.fail("sent %d packets, but %d are acknowledged, %d lost and %d in flight", s.PacketsSent, s.Acknowledged, s.Lost, info.Flow.InFlight)
	}
}
