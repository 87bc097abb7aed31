package transport

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/braid-rdma/braid/wire"
)

// operation is one send request of a host and what is known about it.
type operation struct {
	index      int
	kind       Op
	flags      SendFlags
	length     int
	source     int // where in the pattern its bytes are
	target     int // WRITE: in the peer's window; READ and atomics: in the own sink
	readWindow int // READ of an earlier WRITE: where in the peer's window; negative: of the pattern
	message    int // which message that consumes a receive; negative: none
	cell       int // atomics: which of the peer's cells
	compare    uint64
	swapAdd    uint64
	original   uint64 // atomics: the value that must come back
	imm        uint32
	key        uint32 // SEND with invalidate
	placed     int    // bytes that reached their place
}

func (o *operation) signaled(sc *scenario) bool { return sc.signalAll || o.flags&Signaled != 0 }

// reception is one receive request.
type reception struct {
	index    int
	offset   int // in the sink
	capacity int
	spans    []Span
	op       *operation // of the peer: the message that it will take
}

// workload is what a host's program does, decided before the run.
type workload struct {
	h          *host
	rng        *rand.Rand
	ops        []*operation
	posted     int
	completed  int
	recvs      []*reception
	recvPosted int
	recvDone   int
	idle       Time // wait between posts
	aborted    bool // the connection failed: nothing more is posted
}

func (l *workload) finished() bool {
	if l.aborted {
		return l.completed == l.posted
	}
	return l.completed == len(l.ops)
}

func (l *workload) describe() string {
	return fmt.Sprintf("completed %d of %d (posted %d), receives %d of %d (posted %d)", l.completed, len(l.ops), l.posted, l.recvDone, len(l.recvs), l.recvPosted)
}

// atomicCells is how many counters a host offers to its peer.
const atomicCells = 4

// plan decides the operations of a host and lays out the memory they touch.
func (l *workload) plan(sc *scenario, windowAt, sinkAt func(n int) int, invalidated func() uint32) (messages []*operation) {
	cells := [atomicCells]uint64{}
	var written []*operation
	for i := range sc.ops[l.h.index] {
		o := &operation{index: i, kind: oneOf(l.rng, sc.kinds...), message: -1, readWindow: -1, imm: l.rng.Uint32()}
		if o.length = sc.size; o.length == 0 {
			o.length = l.randomSize(sc.maxSize)
		}
		o.source = l.rng.IntN(len(harnessPattern) - o.length)
		o.flags = l.randomFlags(o, i == sc.ops[l.h.index]-1)
		switch {
		case o.kind == OpWrite || o.kind == OpWriteImm:
			o.target = windowAt(o.length)
			written = append(written, o)
		case o.kind == OpRead:
			o.target = sinkAt(o.length)
			if len(written) > 0 && chance(l.rng, 0.3) {
				w := oneOf(l.rng, written...)
				o.length, o.source, o.readWindow = min(o.length, w.length), w.source, w.target
			}
		case o.kind.isAtomic():
			l.planAtomic(o, &cells)
			o.target = sinkAt(8)
		}
		if o.kind == OpSendInv {
			o.key = invalidated()
		}
		if o.kind.consumesReceive() {
			o.message = len(messages)
			messages = append(messages, o)
		}
		l.ops = append(l.ops, o)
	}
	return messages
}

func (l *workload) planAtomic(o *operation, cells *[atomicCells]uint64) {
	o.length, o.cell = 8, l.rng.IntN(atomicCells)
	value := &cells[o.cell]
	o.original, o.swapAdd = *value, l.rng.Uint64()
	if o.kind == OpFetchAdd {
		*value += o.swapAdd
		return
	}
	if o.compare = *value; chance(l.rng, 0.3) {
		o.compare++ // will not match
		return
	}
	*value = o.swapAdd
}

func (l *workload) randomSize(most int) int {
	switch l.rng.IntN(6) {
	case 0:
		return 0
	case 1, 2:
		return l.rng.IntN(min(most, 64)) + 1
	case 3:
		mtu := l.h.w.sc.attr[0].MTU
		return max(0, min(most, mtu*(1+l.rng.IntN(4))+l.rng.IntN(3)-1))
	}
	return l.rng.IntN(most)
}

func (l *workload) randomFlags(o *operation, last bool) SendFlags {
	var f SendFlags
	if last || chance(l.rng, 0.5) {
		f |= Signaled
	}
	if chance(l.rng, 0.3) {
		f |= Solicited
	}
	if l.h.w.sc.plain {
		return f
	}
	if chance(l.rng, 0.1) {
		f |= Fence
	}
	if chance(l.rng, 0.15) {
		f |= Synchronise
	}
	if !o.kind.awaitsResponse() && o.length <= 128 && chance(l.rng, 0.4) {
		f |= Inline
	}
	return f
}

// planReceptions prepares a receive for each message that the peer will send.
func (l *workload) planReceptions(messages []*operation, sinkAt func(n int) int) {
	for i, m := range messages {
		slack := 0
		if chance(l.rng, 0.5) {
			slack = l.rng.IntN(100)
		}
		r := &reception{index: i, capacity: m.length + slack, op: m}
		if m.kind == OpWriteImm {
			r.capacity = slack
		}
		r.offset = sinkAt(r.capacity)
		l.recvs = append(l.recvs, r)
	}
}

// pieces cuts length bytes of a region into a scatter-gather list.
func (l *workload) pieces(r *Region, offset, length, most int) []Span {
	var s []Span
	for n := l.rng.IntN(most); n > 0 && length > 0; n-- {
		part := l.rng.IntN(length + 1)
		s = append(s, r.span(offset, part))
		offset, length = offset+part, length-part
	}
	if length > 0 {
		s = append(s, r.span(offset, length))
	}
	return s
}

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
		wr := h.request(l.ops[l.posted])
		if h.w.sc.tamper != nil {
			h.w.sc.tamper(wr)
		}
		err := h.qp.PostSend(h.w.now, wr)
		if errors.Is(err, ErrQueueFull) {
			break
		}
		if err != nil {
			h.fail("post of %v: %v", l.ops[l.posted].kind, err)
		}
		h.w.logf("%s posts %v %d: %d bytes, flags %b", h.name, l.ops[l.posted].kind, l.posted, l.ops[l.posted].length, l.ops[l.posted].flags)
		l.posted++
	}
	if l.posted < len(l.ops) || l.recvPosted < len(l.recvs) && !h.w.sc.noRecvs {
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
	h.w.events.push(event{at: h.w.now + 1 + Time(h.work.rng.Int64N(int64(2*pace))), kind: posts, host: h.index})
}

// postReceives keeps some receives ahead of the peer's messages, or waits until
// the peer has posted the message if receives are to be late.
func (h *host) postReceives() {
	l := &h.work
	for n := 1 + l.rng.IntN(6); n > 0 && l.recvPosted < len(l.recvs) && !h.w.sc.noRecvs; n-- {
		r := l.recvs[l.recvPosted]
		if h.w.sc.lateRecvs && h.peer().work.posted <= r.op.index && !h.peer().work.aborted || h.qp.State() == Err {
			return
		}
		r.spans = l.pieces(h.model.sink, r.offset, r.capacity, 3)
		wr := RecvWR{ID: uint64(r.index), Spans: r.spans}
		var err error
		if h.srq != nil {
			err = h.srq.Post(&wr)
		} else {
			err = h.qp.PostRecv(h.w.now, &wr)
		}
		if err != nil {
			h.fail("post of receive %d: %v", r.index, err)
		}
		l.recvPosted++
	}
}

// request makes the work request of an operation.
func (h *host) request(o *operation) *SendWR {
	m, p := &h.model, &h.peer().model
	wr := &SendWR{ID: uint64(o.index), Op: o.kind, Flags: o.flags, Imm: o.imm, Compare: o.compare, SwapAdd: o.swapAdd}
	switch {
	case o.kind.isSend():
		wr.RKey = o.key
	case o.kind == OpRead && o.readWindow < 0:
		wr.RKey, wr.RemoteAddr = p.pattern.RKey, p.pattern.Base+uint64(o.source)
	case o.kind == OpRead:
		wr.RKey, wr.RemoteAddr = p.window.RKey, p.window.Base+uint64(o.readWindow)
	case o.kind.isAtomic():
		wr.RKey, wr.RemoteAddr = p.cells.RKey, p.cells.Base+uint64(8*o.cell)
	default:
		wr.RKey, wr.RemoteAddr = p.window.RKey, p.window.Base+uint64(o.target)
	}
	switch {
	case o.flags&Inline != 0:
		wr.InlineData = harnessPattern[o.source : o.source+o.length]
	case o.kind.isAtomic():
		wr.Spans = []Span{m.sink.span(o.target, 8)}
	case o.kind == OpRead:
		wr.Spans = h.work.pieces(m.sink, o.target, o.length, 4)
	default:
		wr.Spans = h.work.pieces(m.pattern, o.source, o.length, 4)
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
	h := &host{w: w, index: index, name: string(rune('A' + index)), mem: newTestMemory()}
	cfg := Config{
		Number: wire.QPN(0x100 + index), PD: 1, SendDepth: w.sc.depth, RecvDepth: 64, MaxSendSGE: 8, MaxRecvSGE: 8, MaxInline: 256,
		SignalAll: w.sc.signalAll, Memory: h.mem, Rand: rand.New(rand.NewPCG(w.sc.seed, uint64(10+index))), MP: w.sc.mp,
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

// nativeUint64 reads what Memory.Store wrote.
func nativeUint64(b []byte) uint64 { return binary.NativeEndian.Uint64(b) }
