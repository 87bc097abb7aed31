package transport

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/braid-rdma/braid/wire"
)

// operation is one send request of a host and what is known about it.
type operation struct {
	index      int
	kind       Op
	flags      SendFlags
	inline     bool
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
	key        wire.RKey  // SEND with invalidate
	placed     int        // bytes that reached their place
	wrong      bool       // names a key that does not exist
	gate       *gate      // what must have completed before it is posted; nil: nothing
	recv       *reception // a message: the receive that takes it; nil: not known yet
	forwards   *operation // the message of another connection that it passes on; nil: none
	postedAt   Time
}

func (o *operation) signaled(sc *scenario) bool { return sc.signalAll || o.flags&Signaled != 0 }

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
func (l *workload) plan(sc *scenario, windowAt, sinkAt func(n int) int, invalidated func() wire.RKey) (messages []*operation) {
	cells := [atomicCells]uint64{}
	var written []*operation
	for i := range sc.ops[l.h.index] {
		o := &operation{index: i, kind: oneOf(l.rng, sc.kindsOf(l.h.index)...), message: -1, readWindow: -1, imm: l.rng.Uint32()}
		if o.length = max(sc.size, sc.sizes[l.h.index]); o.length == 0 {
			o.length = l.randomSize(sc.maxSizeOf(l.h.index))
		}
		o.source = l.rng.IntN(sourceRange(o.length))
		o.flags, o.inline = l.randomFlags(o, i == sc.ops[l.h.index]-1)
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
		o.wrong = o.length > 0 && !o.kind.isSend() && chance(l.rng, sc.wrongKey)
		if o.kind.consumesReceive() {
			o.message = len(messages)
			messages = append(messages, o)
		}
		l.ops = append(l.ops, o)
	}
	return messages
}

// sourceRange is how far into the pattern a message may begin. Most stay in its
// first part, which caches hold.
func sourceRange(length int) int {
	if part := 1 << 18; length < part {
		return part - length
	}
	return len(harnessPattern) - length
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

func (l *workload) randomFlags(o *operation, last bool) (f SendFlags, inline bool) {
	if last || chance(l.rng, 0.5) {
		f |= Signaled
	}
	if chance(l.rng, 0.3) {
		f |= Solicited
	}
	if l.h.w.sc.plain {
		return f, false
	}
	if chance(l.rng, 0.1) {
		f |= Fence
	}
	if chance(l.rng, 0.15) {
		f |= Synchronise
	}
	inline = !o.kind.awaitsResponse() && o.length <= 128 && chance(l.rng, 0.4)
	return f, inline
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

// nativeUint64 reads what Memory.Store wrote.
func nativeUint64(b []byte) uint64 { return binary.NativeEndian.Uint64(b) }
