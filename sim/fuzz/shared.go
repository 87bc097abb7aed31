package fuzz

import (
	"bytes"
	"math/rand/v2"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// sharedReceives is the shared receive queue of a host. Any message of the talks that
// use it may take any receive, so the model learns from the first byte to whom a
// receive belongs, and from the completion to which message.
type sharedReceives struct {
	w      *world
	host   int
	srq    *verbs.SRQ
	memory memory
	ends   []*end // that use it
	slots  []*slot
	posted int
}

// slot is one receive.
type slot struct {
	offset, length int
	owner          *end // who has written to it
	placed         int
	message        *operation // that took it
	done           bool
}

// newSharedReceives plans a receive for every message, each large enough for all.
func newSharedReceives(w *world, host int, ends []*end, r *rand.Rand) (*sharedReceives, error) {
	s := &sharedReceives{w: w, host: host, ends: ends}
	messages, longest := 0, 1
	for _, e := range ends {
		messages += len(e.recvs)
		for _, o := range e.recvs {
			if o.isSend() {
				longest = max(longest, o.length)
			}
		}
	}
	for range messages + 1 {
		length := longest + r.IntN(9)
		s.slots = append(s.slots, &slot{offset: s.memory.reserve(r, length, 1, nil, ends[0]), length: length})
	}
	pd := w.hosts[host].pd
	if err := s.memory.allocate(pd, r, verbs.LocalWrite); err != nil {
		return nil, err
	}
	var err error
	s.srq, err = pd.CreateSRQ(len(s.slots), 1)
	return s, err
}

// post offers one more receive.
func (s *sharedReceives) post() {
	if s.w.closed || s.posted == len(s.slots) {
		return
	}
	x := s.slots[s.posted]
	wr := verbs.RecvWR{ID: idShared | uint64(s.posted), SGEs: []verbs.SGE{s.memory.mr.SGE(x.offset, x.length)}}
	if err := s.srq.PostRecv(&wr); err != nil {
		s.w.fail("host %d: shared receive %d refused: %v", s.host, s.posted, err)
	}
	s.posted++
}

// makeUp offers receives in place of those that a talk which has failed may have
// claimed: its queue pair keeps them, and nobody else could go on.
func (s *sharedReceives) makeUp(e *end) {
	for range len(e.recvs) - e.recvDone {
		s.post()
	}
}

// checkPlacement checks that bytes of a message go to a receive that is posted and
// that no other queue pair has taken.
func (s *sharedReceives) checkPlacement(e *end, at transport.Span) {
	i := s.memory.index(int(at.Offset), int(at.Length))
	if i < 0 || i >= s.posted {
		e.fail("a payload of %d bytes goes to offset %d of the shared memory, where no receive is", at.Length, at.Offset)
	}
	x := s.slots[i]
	if x.owner == nil {
		x.owner = e
	}
	if x.owner != e || x.done {
		e.fail("a payload goes to shared receive %d, which belongs to talk %d, completed %v", i, x.owner.number, x.done)
	}
	if x.placed += int(at.Length); x.placed > x.length {
		e.fail("bytes of a message in shared receive %d are placed twice", i)
	}
}

// PollCompletion lets the model know which message a shared receive was for as soon
// as the queue pair says so: further packets may arrive before the program polls.
func (o *observer) PollCompletion(c *transport.Completion) bool {
	if !o.QP.PollCompletion(c) {
		return false
	}
	if e := o.end; c.WRID&idShared != 0 && c.Status == transport.Success && e.recvReported < len(e.recvs) {
		if message := e.recvs[e.recvReported]; message.isSend() {
			message.placed = e.w.hosts[e.host].receives.slots[c.WRID&idIndex].placed
		}
		e.recvReported++
	}
	return true
}

// checkReceived checks a completion of a shared receive.
func (s *sharedReceives) checkReceived(c *verbs.Completion) {
	var e *end
	for _, user := range s.ends {
		if user.qp.Number() == c.QPN {
			e = user
		}
	}
	i := int(c.WRID & idIndex)
	if e == nil || i >= s.posted || s.slots[i].done {
		s.w.fail("host %d: shared receive %d of %d completes for queue pair %v", s.host, i, s.posted, c.QPN)
	}
	x := s.slots[i]
	x.done = true
	s.w.later(s.host, e.lately, s.post)
	if c.Status != transport.Success {
		if c.Status != transport.WRFlushErr || e.qp.State() != verbs.Err {
			e.fail("shared receive %d: %v in state %v", i, c.Status, e.qp.State())
		}
		return
	}
	if e.recvDone >= len(e.recvs) {
		e.fail("shared receive %d completes when all messages have come", i)
	}
	o := e.recvs[e.recvDone]
	e.recvDone++
	if o.isSend() && (x.placed != o.length || o.length > 0 && x.owner != e) {
		e.fail("shared receive %d has %d bytes of message %d of %d", i, x.placed, o.message, o.length)
	}
	o.slot, x.message = x, o
	e.checkMessage(o, c)
	s.w.openGates(s.host)
}

// checkMemory checks, at the end, that receives hold their messages and nothing else.
func (s *sharedReceives) checkMemory() {
	if at := s.memory.untouched(); at >= 0 {
		s.w.fail("host %d: the shared memory was changed at offset %d, where nobody has business", s.host, at)
	}
	for i, x := range s.slots {
		from := 0
		switch {
		case x.message == nil && x.owner != nil:
			continue // of a message that did not end
		case x.message != nil && x.message.isSend():
			from = x.message.length
		}
		if rest := s.memory.at(x.offset+from, x.length-from); len(bytes.Trim(rest, string([]byte{guard}))) != 0 {
			s.w.fail("host %d: the rest of shared receive %d was written", s.host, i)
		}
	}
}
