package fuzz

import (
	"math/rand/v2"

	"github.com/braid-rdma/braid/sim/internal/hook"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// chat is an exchange of datagrams between two programs. A datagram may be lost, and
// come twice where the network doubles packets; but what comes is what was sent, to
// the oldest receive, with the right source.
type chat struct {
	*chatSpec
	w      *world
	number int
	ends   [2]*chatEnd
}

// chatEnd is one side of a chat.
type chatEnd struct {
	*chat
	side, host int
	spec       *endSpec
	qp         *verbs.QP
	ah         verbs.AH // of the peer
	source     memory
	sink       memory // receives, each as long as the longest datagram

	ops       []*operation
	posted    int
	completed int
	thinking  bool
	firstPSN  verbs.PSN
	arrived   []int  // by datagram of the peer: how often it came
	starved   []bool // by datagram of the peer: a copy of it found no receive

	recvPosted int
	recvTaken  int // by datagrams, as the queue pair says
	recvDone   int
}

func (e *chatEnd) peer() *chatEnd { return e.ends[1-e.side] }

func (e *chatEnd) fail(format string, args ...any) {
	e.w.fail("chat %d, host %d: "+format, append([]any{e.number, e.host}, args...)...)
}

// newChat makes both ends and lets them begin.
func newChat(w *world, number int, spec *chatSpec) (*chat, error) {
	c := &chat{chatSpec: spec, w: w, number: number}
	r := rand.New(rand.NewPCG(w.sc.seed, uint64(idChats+number)))
	for side := range c.ends {
		c.ends[side] = &chatEnd{chat: c, side: side, host: spec.hosts[side], spec: &spec.ends[side]}
	}
	for _, e := range c.ends {
		if err := e.open(r); err != nil {
			return nil, err
		}
	}
	for _, e := range c.ends {
		if err := e.begin(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// open makes the memory and the queue pair of an end.
func (e *chatEnd) open(r *rand.Rand) error {
	for i := range e.spec.ops {
		o := &operation{opSpec: &e.spec.ops[i], index: i}
		o.source = e.source.reserve(r, o.length, 1, o, nil)
		e.ops = append(e.ops, o)
	}
	asked := len(e.peer().spec.ops)
	e.arrived, e.starved = make([]int, asked), make([]bool, asked)
	for range 2 * asked { // some may come twice
		e.sink.reserve(r, verbs.GRHLength+e.w.sc.config.MTU+r.IntN(9), 1, nil, nil)
	}
	h := e.w.hosts[e.host]
	if err := e.source.allocate(h.pd, r, 0); err != nil {
		return err
	}
	if err := e.sink.allocate(h.pd, r, verbs.LocalWrite); err != nil {
		return err
	}
	var err error
	e.qp, err = h.pd.CreateQP(verbs.QPOptions{Type: verbs.UD, SendCQ: h.cq, SendDepth: e.depth, RecvDepth: max(1, e.spec.receive)})
	if err != nil {
		return err
	}
	e.firstPSN = e.qp.Params().PSN
	hook.Decorate(e.w.net, e.host, e.qp.Number(), func(qp transport.QP) transport.QP { return &chatObserver{qp, e} })
	return e.qp.Activate(e.key)
}

// begin posts receives and lets the program start.
func (e *chatEnd) begin() (err error) {
	if e.ah, err = e.w.hosts[e.host].pd.CreateAH(e.peer().qp.Params().Addr); err != nil {
		return err
	}
	for range e.spec.receive {
		e.postReceive()
	}
	return e.w.net.At(e.start, e.host, e.pump)
}

// pump posts datagrams while there is room for them.
func (e *chatEnd) pump() {
	for !e.thinking && e.posted < len(e.ops) && e.posted-e.completed < e.depth {
		o := e.ops[e.posted]
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

func (e *chatEnd) post(o *operation) {
	wr := verbs.SendWR{
		ID: e.id(o.index), Op: o.kind, Flags: o.flags &^ verbs.Signaled, Imm: o.imm,
		SGEs: []verbs.SGE{e.source.mr.SGE(o.source, o.length)},
		AH:   e.ah, RemoteQPN: e.peer().qp.Number(), RemoteQKey: e.key,
	}
	if e.signals(o) {
		wr.Flags |= verbs.Signaled
	}
	if o.stray {
		wr.RemoteQKey ^= 1
	}
	if err := e.qp.PostSend(&wr); err != nil {
		e.fail("datagram %d refused: %v", o.index, err)
	}
	e.posted++
}

// signals says whether a datagram asks for a completion; see end.signals.
func (e *chatEnd) signals(o *operation) bool {
	return o.flags&verbs.Signaled != 0 || (o.index+1)%max(1, e.depth/2) == 0 || o.index+1 == len(e.ops)
}

func (e *chatEnd) id(index int) uint64 {
	return uint64(idChats+e.number)<<idTalkShift | uint64(e.side)*idSide | uint64(index)
}

func (e *chatEnd) postReceive() {
	if e.w.closed || e.recvPosted == len(e.sink.extents) {
		return
	}
	x := e.sink.extents[e.recvPosted]
	wr := verbs.RecvWR{ID: e.id(e.recvPosted) | idReceive, SGEs: []verbs.SGE{e.sink.mr.SGE(x.offset, x.length)}}
	if err := e.qp.PostRecv(&wr); err != nil {
		e.fail("receive %d refused: %v", e.recvPosted, err)
	}
	e.recvPosted++
}

// finished says whether everything is sent; whether it comes is nobody's promise.
func (e *chatEnd) finished() bool { return e.completed == len(e.ops) }
