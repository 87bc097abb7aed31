package transport

import (
	"math/rand/v2"
	"sort"

	"github.com/braid-rdma/braid/wire"
)

// harnessPattern is what all messages are cut from: any two places of it
// differ, so that a byte in the wrong place shows. It is a little longer than
// the longest message.
var harnessPattern = func() []byte {
	r := rand.New(rand.NewPCG(7, 7))
	b := make([]byte, 1<<20+1<<18)
	for i := range b {
		b[i] = byte(r.Uint32()) | 1 // never zero: zero is untouched memory
	}
	return b
}()

// guard is the untouched memory between any two targets.
const guard = 16

// model is a host's memory and what belongs where in it.
type model struct {
	pattern *Region // source of messages, and of the peer's READs
	window  *Region // target of the peer's WRITEs
	sink    *Region // receives, and results of READs and atomics
	cells   *Region // the peer's atomics

	windowSize, sinkSize int
	windowExtents        []extent
	sinkExtents          []extent
	messages             []*operation // of the peer, in the order that consumes receives
	keys                 offered
}

// extent is the target of one operation.
type extent struct {
	offset, length int
	op             *operation // whose payload goes here
	recv           *reception // of a receive; nil: it is none
}

// find returns the extent that covers n bytes from offset on.
func find(extents []extent, offset, n int) *extent {
	i := sort.Search(len(extents), func(i int) bool { return extents[i].offset > offset })
	for i--; i >= 0; i-- {
		e := &extents[i]
		if e.length == 0 {
			continue
		}
		if offset+n <= e.offset+e.length {
			return e
		}
		return nil
	}
	return nil
}

// reserve takes n bytes of an area, after a guard.
func reserve(size *int, n int) int {
	at := *size + guard
	*size = (at + n + 7) &^ 7
	return at &^ 7
}

// plan decides the work of both hosts.
func (w *world) plan() {
	for _, h := range w.hosts {
		peer := h.peer()
		messages := h.work.plan(w.sc,
			func(n int) int { return reserve(&peer.model.windowSize, n) },
			func(n int) int { return reserve(&h.model.sinkSize, n) },
			func() wire.RKey { return peer.mem.register(1, 8, RemoteRead).RKey })
		peer.model.messages = messages
		peer.work.planReceptions(messages, func(n int) int { return reserve(&peer.model.sinkSize, n) })
	}
}

func (h *host) registerMemory() {
	m := &h.model
	m.pattern = h.mem.register(1, 0, RemoteRead)
	m.pattern.Bytes, m.pattern.Length = harnessPattern, uint64(len(harnessPattern))
	m.window = h.mem.register(1, m.windowSize+guard, LocalWrite|RemoteWrite|RemoteRead)
	m.sink = h.mem.register(1, m.sinkSize+guard, LocalWrite)
	m.cells = h.mem.register(1, 8*atomicCells, LocalWrite|RemoteAtomic)
	h.offerKeys()
	for _, o := range h.peer().work.ops {
		if o.kind == OpWrite || o.kind == OpWriteImm {
			m.windowExtents = append(m.windowExtents, extent{offset: o.target, length: o.length, op: o})
		}
	}
	for _, o := range h.work.ops {
		if o.kind == OpRead {
			m.sinkExtents = append(m.sinkExtents, extent{offset: o.target, length: o.length, op: o})
		}
	}
	for _, r := range h.work.recvs {
		if e := (extent{offset: r.offset, length: r.capacity, recv: r}); r.op == nil {
			m.sinkExtents = append(m.sinkExtents, e)
		} else if r.op.kind.isSend() {
			e.length, e.op = r.op.length, r.op
			m.sinkExtents = append(m.sinkExtents, e)
		}
	}
	sort.SliceStable(m.sinkExtents, func(i, j int) bool { return m.sinkExtents[i].offset < m.sinkExtents[j].offset })
}

// result is where the bytes of an operation of h must be, and where they come from.
func (h *host) result(o *operation) (got, want []byte) {
	p := &h.peer().model
	want = harnessPattern[o.source : o.source+o.length]
	switch {
	case o.kind == OpRead:
		return h.model.sink.Bytes[o.target : o.target+o.length], want
	case o.kind.isSend() && o.recv == nil:
		return nil, want
	case o.kind.isSend():
		return p.sink.Bytes[o.recv.offset : o.recv.offset+o.length], want
	}
	return p.window.Bytes[o.target : o.target+o.length], want
}
