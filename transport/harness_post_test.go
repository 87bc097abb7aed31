package transport

import (
	"errors"
	"math/rand/v2"

	"github.com/braid-rdma/braid/wire"
)

// post posts what is due: receives first, then one or several sends.
func (h *host) post() {
	l := &h.work
	before := l.posted + l.recvPosted
	h.postReceives()
	if h.failed || h.qp.State() == Err {
		l.aborted = true
		return
	}
	for n := 1 + l.rng.IntN(4); n > 0 && l.posted < len(l.ops); n-- {
		if !h.opens(l.ops[l.posted].gate) {
			break
		}
		wr := h.request(l.ops[l.posted])
		if h.w.sc.tamper != nil {
			h.w.sc.tamper(wr)
		}
		err := h.qp.PostSend(h.w.now, wr)
		if errors.Is(err, ErrQueueFull) {
			break
		}
		if h.sourceGone && errors.Is(err, ErrLocalAccess) {
			h.hangUp()
			return
		}
		if err != nil {
			h.fail("post of %v: %v", l.ops[l.posted].kind, err)
		}
		l.ops[l.posted].postedAt = h.w.now
		h.w.logf("%s posts %v %d: %d bytes, flags %b", h.name, l.ops[l.posted].kind, l.posted, l.ops[l.posted].length, l.ops[l.posted].flags)
		l.posted++
	}
	if h.mayPost() {
		if l.idle = min(2*l.idle+Microsecond, 4*Millisecond); l.posted+l.recvPosted > before {
			l.idle = h.w.sc.pace
		}
		h.schedulePost()
	}
}

// schedulePost wakes the program after a while, which grows while it finds
// nothing to do.
func (h *host) schedulePost() {
	pace := max(h.work.idle, h.w.sc.pace)
	h.w.events.push(event{at: h.w.now + 1 + Time(h.work.rng.Int64N(int64(2*pace))), w: h.w, kind: posts, host: h})
	h.postDue = true
}

// postReceives keeps some receives ahead of the peer's messages, or waits until
// the peer has posted the message if receives are to be late.
func (h *host) postReceives() {
	l := &h.work
	for n := h.receivesAtOnce(); n > 0 && l.recvPosted < len(l.recvs) && !h.w.sc.noRecvs; n-- {
		r := l.recvs[l.recvPosted]
		if h.w.sc.lateRecvs && h.peer().work.posted <= h.model.messages[r.index].index && !h.peer().work.aborted || h.qp.State() == Err || !h.opens(r.gate) {
			return
		}
		r.spans = l.pieces(h.model.sink, r.offset, r.capacity, 3)
		wr := RecvWR{ID: uint64(r.index), SGEs: r.spans}
		var err error
		if h.srq != nil {
			err = h.srq.Post(&wr)
		} else {
			err = h.qp.PostRecv(&wr)
		}
		if err != nil {
			h.fail("post of receive %d: %v", r.index, err)
		}
		l.recvPosted++
	}
}

// request makes the work request of an operation.
func (h *host) request(o *operation) *SendWR {
	m, k := &h.model, &h.peer().model.keys
	wr := &SendWR{ID: uint64(o.index), Op: o.kind, Flags: o.flags, Imm: o.imm, Compare: o.compare, SwapAdd: o.swapAdd}
	switch {
	case o.kind.isSend():
		wr.RKey = o.key
	case o.kind == OpRead && o.readWindow < 0:
		wr.RKey, wr.RemoteAddr = k.pattern.rkey, k.pattern.base+uint64(o.source)
	case o.kind == OpRead:
		wr.RKey, wr.RemoteAddr = k.window.rkey, k.window.base+uint64(o.readWindow)
	case o.kind.isAtomic():
		wr.RKey, wr.RemoteAddr = k.cells.rkey, k.cells.base+uint64(8*o.cell)
	default:
		wr.RKey, wr.RemoteAddr = k.window.rkey, k.window.base+uint64(o.target)
	}
	if o.wrong {
		wr.RKey ^= 0x5a5a5a5a
	}
	switch {
	case o.inline:
		wr.Inline = harnessPattern[o.source : o.source+o.length]
	case o.kind.isAtomic():
		wr.SGEs = []SGE{m.sink.span(o.target, 8)}
	case o.kind == OpRead:
		wr.SGEs = h.work.pieces(m.sink, o.target, o.length, 4)
	case o.forwards != nil && o.forwards.arrived():
		r := o.forwards.recv
		wr.SGEs = h.work.pieces(r.h.model.sink, r.offset, o.length, 4)
	default:
		wr.SGEs = h.work.pieces(m.pattern, o.source, o.length, 4)
	}
	return wr
}

// connect brings the queue pair to RTS.
func (h *host) connect() {
	attr := h.w.sc.attr[h.index]
	for _, to := range []State{Init, RTR, RTS} {
		if err := h.qp.Modify(h.w.now, to, &attr); err != nil {
			h.fail("modify to %v: %v", to, err)
		}
	}
	if h.w.sc.window > 0 {
		h.qp.SetWindow(h.w.sc.window)
	}
	h.postReceives()
	h.schedulePost()
}

func newHost(w *world, index int) *host {
	h := &host{w: w, index: index, name: string(rune('A' + index)), mem: &harnessMemory{testMemory: newTestMemory()}}
	cfg := Config{
		Number: wire.QPN(0x100 + index), PD: 1, SendDepth: w.sc.depth, RecvDepth: 64, MaxSendSGE: 8, MaxRecvSGE: 8, MaxInline: 256,
		SignalAll: w.sc.signalAll, Memory: h.mem, Rand: rand.New(rand.NewPCG(w.sc.seed, uint64(10+index))), MP: w.sc.mp, RC: w.sc.rcOptions,
	}
	if w.sc.shared {
		q, err := NewReceiveQueue(64, 8, 1)
		if err != nil {
			h.fail("%v", err)
		}
		h.srq, cfg.Recv = q, q
	}
	var err error
	if w.sc.rc {
		h.qp, err = NewRC(cfg)
	} else {
		h.mp, err = NewMP(cfg)
		h.qp = h.mp
	}
	if err != nil {
		h.fail("%v", err)
	}
	if w.sc.sabotage != nil {
		h.qp = w.sc.sabotage(h, h.qp)
	}
	h.work = workload{h: h, rng: rand.New(rand.NewPCG(w.sc.seed, uint64(20+index)))}
	return h
}
