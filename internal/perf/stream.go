package perf

import (
	"time"

	"github.com/braid-rdma/braid/verbs"
)

// signalBytes is how many bytes go out between two completions at most: small
// messages share a completion, which makes them cheap, and large ones have one
// each, which keeps the measurement fine-grained.
const signalBytes = 1 << 20

// stream keeps one queue pair busy. It posts operations in groups with one
// call and one completion each; nothing is allocated per operation.
type stream struct {
	qp     *verbs.QP
	index  int
	layout layout
	peer   region
	depth  uint64
	limit  uint64 // operations to post; lowered to stop early

	posted, completed uint64
	group             []verbs.SendWR
	groups            groupTimes

	inline []byte // the local memory, where messages travel within their requests
}

func newStream(e *endpoint, index int) stream {
	spec := &e.spec
	size := spec.Group
	orDefault(&size, min(max(1, signalBytes/spec.Size), max(1, spec.TxDepth/4)))
	s := stream{
		qp: e.qps[index], index: index, layout: e.layout, peer: e.peerOf(index),
		depth: uint64(spec.TxDepth), limit: uint64(spec.Iterations),
		group:  make([]verbs.SendWR, size),
		groups: groupTimes{ring: make([]groupTime, spec.TxDepth/size+1)},
	}
	if spec.Duration > 0 {
		s.limit = maxIters
	}
	if spec.inlined() {
		s.inline = e.local.Bytes()
	}
	for i := range s.group {
		s.group[i] = e.request(index)
	}
	return s
}

// request is an operation of the test, without its place in memory.
func (e *endpoint) request(queuePair int) verbs.SendWR {
	peer := e.peerOf(queuePair)
	wr := verbs.SendWR{
		RKey: peer.RKey,
		SGEs: []verbs.SGE{e.local.SGE(0, e.layout.size)},
	}
	if e.spec.inlined() {
		wr.SGEs, wr.Inline = nil, e.local.Bytes()[:e.layout.size]
	}
	switch e.spec.Op {
	case Write:
		wr.Op = verbs.OpWrite
		if e.spec.echoes() {
			// The peer must learn that the message is whole. On a multi-path
			// connection its last byte may arrive first, so polling the memory
			// as perftest does would measure less than a message.
			wr.Op = verbs.OpWriteImm
		}
	case Read:
		wr.Op = verbs.OpRead
	case Send:
		wr.Op = verbs.OpSend
	case Atomic:
		wr.Op = verbs.OpFetchAdd
		wr.SwapAdd = 1
		// Each queue pair has a counter of its own, in its first slot.
		wr.RemoteAddr = peer.Addr + uint64(e.layout.offset(queuePair, 0))
	}
	return wr
}

// place puts operation number n into its slots. An atomic keeps its counter.
func (s *stream) place(wr *verbs.SendWR, n uint64) {
	offset := uint64(s.layout.offset(s.index, n))
	if s.inline != nil {
		wr.Inline = s.inline[offset:][:s.layout.size]
	} else {
		wr.SGEs[0].Offset = offset
	}
	if wr.Op != verbs.OpFetchAdd {
		wr.RemoteAddr = s.peer.Addr + offset
	}
}

// done says whether all operations have completed.
func (s *stream) done() bool { return s.completed == s.limit }

// stop posts nothing more; what is outstanding still completes.
func (s *stream) stop() { s.limit = s.posted }

// post posts groups for as long as the depth allows.
func (s *stream) post(now time.Time) error {
	for s.posted < s.limit {
		n := min(uint64(len(s.group)), s.limit-s.posted)
		if s.posted-s.completed+n > s.depth {
			return nil
		}
		group := s.group[:n]
		for i := range group {
			s.place(&group[i], s.posted+uint64(i))
			group[i].Flags = 0
		}
		last := &group[n-1]
		last.Flags = verbs.Signaled
		last.ID = uint64(s.index)<<countBits | (s.posted + n)
		if _, err := s.qp.PostSends(group); err != nil {
			return err
		}
		s.posted += n
		s.groups.push(groupTime{end: s.posted, at: now})
	}
	return nil
}

// complete takes in that all operations before number end have completed, and
// returns how many these are and since when the group was under way.
func (s *stream) complete(end uint64) (operations uint64, since time.Time) {
	operations = end - s.completed
	s.completed = end
	return operations, s.groups.pop(end)
}

// groupTime is when the group that ends before operation end was posted.
type groupTime struct {
	end uint64
	at  time.Time
}

// groupTimes is a queue of the groups under way, bounded by the queue depth.
type groupTimes struct {
	ring       []groupTime
	head, tail int
}

func (g *groupTimes) push(t groupTime) {
	g.ring[g.tail%len(g.ring)] = t
	g.tail++
}

// pop removes the groups up to the one that ends at end, and returns when that
// was posted.
func (g *groupTimes) pop(end uint64) (at time.Time) {
	for g.head < g.tail && g.ring[g.head%len(g.ring)].end <= end {
		at = g.ring[g.head%len(g.ring)].at
		g.head++
	}
	return at
}
