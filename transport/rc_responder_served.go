package transport

import "github.com/braid-rdma/braid/wire"

// exchange is a READ or atomic of the peer: what was asked and, for an atomic,
// what was answered.
type exchange struct {
	op       wire.Opcode
	psn      wire.PSN
	packets  uint32 // of the response
	va       uint64
	rkey     uint32
	length   uint32
	original uint64 // atomic: the value before it
}

// offset is the distance of psn from the first packet of the response; it is
// below packets for those that belong to it.
func (e *exchange) offset(psn wire.PSN) uint32 { return uint32(psn-e.psn) & wire.PSNMask }

// servedRequests remembers the latest READs and atomics, so that duplicates can
// be checked and answered. A peer has no more outstanding than it was granted,
// hence never asks again for one that has left the record.
type servedRequests struct {
	ring []exchange
	next int
	size int
}

func (s *servedRequests) resize(n int) { *s = servedRequests{ring: make([]exchange, n)} }

// add remembers an exchange in the place of the oldest.
func (s *servedRequests) add(e exchange) {
	s.ring[s.next] = e
	s.next = (s.next + 1) % len(s.ring)
	s.size = min(s.size+1, len(s.ring))
}

// find answers the exchange whose response has packet psn, newest first.
func (s *servedRequests) find(psn wire.PSN) *exchange {
	for i := 1; i <= s.size; i++ {
		e := &s.ring[(s.next-i+len(s.ring))%len(s.ring)]
		if e.offset(psn) < e.packets {
			return e
		}
	}
	return nil
}

// answer is the response to one exchange on its way out.
type answer struct {
	exchange
	next  uint32 // READ: the packet to send next
	from  uint32 // READ: the packet that the peer asked to begin with
	fresh bool   // answers the request itself, not a duplicate
}

// answerQueue holds the answers in order of packet numbers, which is the order
// in which the peer can take them. There are few: responder resources bound
// the fresh ones; repeated ones come from the record, which is as long, and are
// here once at most.
type answerQueue struct {
	items []answer
	fresh int
}

func (a *answerQueue) resize(resources int) {
	*a = answerQueue{items: make([]answer, 0, 2*resources)}
}

// push adds the answer to a new request, which is later than all others.
func (a *answerQueue) push(x answer) {
	x.fresh = true
	a.fresh++
	a.items = append(a.items, x)
}

// insert adds the answer to a duplicate at its place.
func (a *answerQueue) insert(x answer) {
	i := 0
	for i < len(a.items) && a.items[i].psn.Before(x.psn) {
		i++
	}
	a.items = append(a.items, answer{})
	copy(a.items[i+1:], a.items[i:])
	a.items[i] = x
}

// pending answers the entry for the exchange that begins at psn, if it has not
// left completely.
func (a *answerQueue) pending(psn wire.PSN) *answer {
	for i := range a.items {
		if a.items[i].psn == psn {
			return &a.items[i]
		}
	}
	return nil
}

// pop removes the first answer.
func (a *answerQueue) pop() {
	if a.items[0].fresh {
		a.fresh--
	}
	n := copy(a.items, a.items[1:])
	a.items = a.items[:n]
}
