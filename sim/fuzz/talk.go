package fuzz

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/braid-rdma/braid/sim/internal/hook"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// talk is a connection between two programs that ask operations of each other.
type talk struct {
	*talkSpec
	w      *world
	number int
	r      *rand.Rand
	ends   [2]*end
}

// end is one side of a talk: its queue pair, its memory, what it has asked and
// what it has received.
type end struct {
	*talk
	side, host int
	spec       *endSpec
	qp         *verbs.QP
	source     memory    // what SEND and WRITE take
	sink       memory    // what receives, READs and atomics fill
	window     memory    // what the peer may reach
	leases     []*memory // what it may reach until it ends their keys
	revoked    bool      // the key of the window is ended
	frozen     uint64    // the number in the window when it was
	counter    int       // offset of the number in the window that the peer's atomics change
	value      uint64    // that number, when all posted so far have run
	// recvReported counts the shared receives that the queue pair has completed,
	// whether the program has polled them or not.
	recvReported int

	ops       []*operation
	posted    int
	completed int
	thinking  bool
	failed    bool
	responses int // packets of READ responses that have left
	turns     fairness

	recvs      []*operation // of the peer, that take a receive here
	recvPosted int
	recvDone   int
	recvWanted int // receives that the program would have posted by now if none waited
}

func (e *end) peer() *end { return e.ends[1-e.side] }

// newTalk makes both ends, as a plan.
func newTalk(w *world, number int, spec *talkSpec) *talk {
	t := &talk{talkSpec: spec, w: w, number: number, r: rand.New(rand.NewPCG(w.sc.seed, uint64(number)))}
	for side := range t.ends {
		t.ends[side] = &end{talk: t, side: side, host: spec.hosts[side], spec: &spec.ends[side]}
	}
	for _, e := range t.ends {
		e.plan(t.r)
	}
	return t
}

// open makes the memory and the queue pairs of both ends and connects them.
func (t *talk) open() error {
	for _, e := range t.ends {
		if err := e.open(t.r); err != nil {
			return err
		}
	}
	return t.connect()
}

// plan gives every operation its places in memory.
func (e *end) plan(r *rand.Rand) {
	p := e.peer()
	p.counter = p.window.reserve(r, 8, 8, nil, e)
	for i := range e.spec.ops {
		e.ops = append(e.ops, &operation{opSpec: &e.spec.ops[i], index: i, message: -1})
	}
	e.planLeases()
	for _, o := range e.ops {
		if o.awaitsResponse() {
			o.target = e.sink.reserve(r, o.length, 8, o, e)
			o.remote = p.counter
			if o.kind == verbs.OpRead {
				o.remote = p.window.reserve(r, o.length, 1, o, nil)
			}
			continue
		}
		o.source = e.source.reserve(r, o.length, 1, o, nil)
		if o.takesReceive() {
			o.message = len(p.recvs)
			p.recvs = append(p.recvs, o)
		}
		switch {
		case o.isSend() && e.shared:
			// Which receive it takes is known when it has.
		case o.isSend():
			o.target = p.sink.reserve(r, o.length+o.spare, 1, o, e)
		case o.lease != nil:
			o.target = o.lease.reserve(r, o.length, 1, o, e)
		default:
			o.target = p.window.reserve(r, o.length, 1, o, e)
		}
	}
}

// open makes the memory and the queue pair of an end.
func (e *end) open(r *rand.Rand) error {
	h := e.w.hosts[e.host]
	if err := e.source.allocate(h.pd, r, 0); err != nil {
		return err
	}
	if err := e.sink.allocate(h.pd, r, verbs.LocalWrite); err != nil {
		return err
	}
	if err := e.window.allocate(h.pd, r, verbs.LocalWrite|verbs.RemoteWrite|verbs.RemoteRead|verbs.RemoteAtomic); err != nil {
		return err
	}
	if err := e.openLeases(h.pd, r); err != nil {
		return err
	}
	e.value = binary.NativeEndian.Uint64(e.window.at(e.counter, 8))
	o := e.talkSpec.qp
	o.SendCQ, o.RecvDepth = h.cq, max(1, e.spec.receive)
	if e.shared {
		o.SRQ = h.receives.srq
	}
	var err error
	if e.qp, err = h.pd.CreateQP(o); err != nil {
		return err
	}
	hook.Decorate(e.w.net, e.host, e.qp.Number(), func(qp transport.QP) transport.QP { return &observer{qp, e} })
	return e.qp.Prepare()
}

func (t *talk) connect() error {
	a, b := t.ends[0], t.ends[1]
	if err := a.qp.Connect(b.qp.Params()); err != nil {
		return err
	}
	if err := b.qp.Connect(a.qp.Params()); err != nil {
		return err
	}
	for _, e := range t.ends {
		for range min(e.spec.receive, len(e.recvs)) {
			e.postReceive()
		}
		if err := e.w.net.At(t.start, e.host, e.pump); err != nil {
			return err
		}
		if at := e.spec.revoke; at > 0 {
			if err := e.w.net.At(at, e.host, e.revoke); err != nil {
				return err
			}
		}
	}
	return nil
}

// pump posts operations while there is room for them.
func (e *end) pump() {
	for !e.thinking && !e.failed && e.posted < len(e.ops) && e.posted-e.completed < e.talkSpec.qp.SendDepth {
		o := e.ops[e.posted]
		if o.waits && !e.receivedBefore(o.rank) {
			return
		}
		if o.opSpec.thinking > 0 && !o.thought {
			o.thought, e.thinking = true, true
			e.w.later(e.host, o.opSpec.thinking, func() {
				e.thinking = false
				e.pump()
			})
			return
		}
		e.post(o)
	}
}

// post hands one operation to the queue pair.
func (e *end) post(o *operation) {
	there := e.remoteMemory(o)
	wr := verbs.SendWR{ID: e.id(o.index), Op: o.kind, Flags: o.flags &^ verbs.Signaled, Imm: o.imm, RKey: there.key}
	if e.signals(o) {
		wr.Flags |= verbs.Signaled
	}
	if o.awaitsResponse() {
		wr.SGEs = []verbs.SGE{e.sink.mr.SGE(o.target, o.length)}
		wr.RemoteAddr = there.mr.Addr() + uint64(o.remote)
	} else {
		wr.SGEs = []verbs.SGE{e.source.mr.SGE(o.source, o.length)}
		wr.RemoteAddr = there.mr.Addr() + uint64(o.target)
	}
	if o.isAtomic() {
		e.foresee(o, &wr)
	}
	o.late = e.qp.State() == verbs.Err
	if err := e.qp.PostSend(&wr); err != nil {
		e.fail("post of %v %d refused: %v", o.kind, o.index, err)
	}
	e.posted++
}

// foresee computes what an atomic will find; only this end changes the number.
func (e *end) foresee(o *operation, wr *verbs.SendWR) {
	p := e.peer()
	o.original = p.value
	wr.SwapAdd, wr.Compare = o.addend, p.value
	switch {
	case o.kind == verbs.OpFetchAdd:
		p.value += o.addend
	case o.compare:
		p.value = o.addend
	default:
		wr.Compare++ // does not match, changes nothing
	}
}

// signals says whether an operation asks for a completion. Some must, or the
// queue would never be known to have room again.
func (e *end) signals(o *operation) bool {
	every := max(1, e.talkSpec.qp.SendDepth/2)
	return e.talkSpec.qp.SignalAll || o.rank > 0 || o.flags&verbs.Signaled != 0 || (o.index+1)%every == 0 || o.index+1 == len(e.ops)
}

// A work request's ID names the talk, the side, the queue and the operation.
const (
	idTalkShift = 32
	idChats     = 1 << 16 // chats are numbered from here on
	idSide      = 1 << 31
	idReceive   = 1 << 30
	idShared    = 1 << 29 // a receive of a shared queue, whose talk is not known
	idIndex     = idShared - 1
)

func (e *end) id(index int) uint64 {
	return uint64(e.number)<<idTalkShift | uint64(e.side)*idSide | uint64(index)
}

// postReceive offers memory for the next message of the peer.
func (e *end) postReceive() {
	if e.shared {
		e.w.hosts[e.host].receives.post()
		return
	}
	e.recvWanted++
	e.postWanted()
}

// postWanted posts the receives that are due, as far as they wait for nothing.
func (e *end) postWanted() {
	for e.recvPosted < min(e.recvWanted, len(e.recvs)) && !e.failed && !e.w.closed && e.opens(e.recvs[e.recvPosted]) {
		e.postNext()
	}
}

func (e *end) postNext() {
	o := e.recvs[e.recvPosted]
	wr := verbs.RecvWR{ID: e.id(e.recvPosted) | idReceive}
	if o.isSend() {
		wr.SGEs = []verbs.SGE{e.sink.mr.SGE(o.target, o.length+o.spare)}
	}
	if err := e.qp.PostRecv(&wr); err != nil {
		e.fail("receive %d refused: %v", e.recvPosted, err)
	}
	e.recvPosted++
}

// finished says whether nothing more is to come.
func (e *end) finished() bool {
	if e.failed {
		return e.completed == e.posted
	}
	return e.completed == len(e.ops) && (e.recvDone == len(e.recvs) || e.peer().failed)
}
