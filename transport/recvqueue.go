package transport

// recvWQE is a posted receive.
type recvWQE struct {
	id     uint64
	length uint64
	spans  []Span // backing array reused with the slot
	taken  bool   // from a shared queue; without one every receive is its queue pair's own
}

func (w *recvWQE) copyFrom(o *recvWQE) {
	w.id, w.length = o.id, o.length
	w.spans = append(w.spans[:0], o.spans...)
}

// ReceiveQueue holds posted receives: a queue pair's own, or one that several
// queue pairs share (SRQ).
type ReceiveQueue struct {
	wqes   fifo[recvWQE]
	depth  int
	maxSGE int
	pd     PD
	limit  int
	// claimed counts receives that queue pairs have taken for messages which are not complete.
	claimed int
}

// NewReceiveQueue makes a receive queue that holds depth requests.
func NewReceiveQueue(depth, maxSGE int, pd PD) (*ReceiveQueue, error) {
	if depth < 1 || depth > MaxQueueDepth || maxSGE < 1 || maxSGE > MaxSGE {
		return nil, ErrAttr
	}
	return &ReceiveQueue{depth: depth, maxSGE: maxSGE, pd: pd}, nil
}

// Len is the number of receives posted and not yet taken.
func (r *ReceiveQueue) Len() int { return r.wqes.len() }

// SetLimit arms the low-water mark: TakeLimitEvent returns true once when
// fewer than n receives are left.
func (r *ReceiveQueue) SetLimit(n int) { r.limit = n }

// TakeLimitEvent returns true once per SetLimit, when the queue ran below its limit.
func (r *ReceiveQueue) TakeLimitEvent() bool {
	if r.limit == 0 || r.wqes.len() >= r.limit {
		return false
	}
	r.limit = 0
	return true
}

// Post adds a receive.
func (r *ReceiveQueue) Post(wr *RecvWR) error {
	length, err := checkSGEs(wr.SGEs, r.maxSGE, r.pd, LocalWrite)
	if err != nil {
		return err
	}
	if r.wqes.len() >= r.depth {
		return ErrQueueFull
	}
	w := r.wqes.push()
	w.id, w.length = wr.ID, length
	w.spans = appendSGEs(w.spans[:0], wr.SGEs)
	return nil
}

// receives is the queue pair's side of receiving: the requests it may consume
// in order. With a shared queue each is claimed from it when the data of its
// message arrives, so that a message which began to arrive keeps its buffer; the
// messages before it, of which nothing has come, claim nothing.
type receives struct {
	own    *ReceiveQueue
	shared *ReceiveQueue
	holes  int // places in own of messages that have claimed nothing
}

// at returns the receive of the i-th message not yet complete, claiming it from
// the shared queue as needed; nil when there is none.
func (r *receives) at(i int) *recvWQE {
	if i < 0 {
		return nil
	}
	if i < r.own.wqes.len() && (r.shared == nil || r.own.wqes.at(i).taken) {
		return r.own.wqes.at(i)
	}
	if r.shared == nil || !r.mayClaim(i) {
		return nil
	}
	for r.own.wqes.len() <= i {
		r.own.wqes.push().taken = false
		r.holes++
	}
	w := r.own.wqes.at(i)
	w.copyFrom(r.shared.wqes.pop())
	w.taken = true
	r.holes--
	r.shared.claimed++
	return w
}

// mayClaim says whether the i-th message may take a shared receive. One that is
// not next may do so only if that leaves one for each message before it, since
// the program may post no other before they are complete; and only while fewer
// are claimed than free, so that peers that begin many messages and complete
// none leave half of the queue to the others.
func (r *receives) mayClaim(i int) bool {
	free := r.shared.wqes.len()
	if i == 0 {
		return free > 0
	}
	before := r.holes - 1 // the place of this message is one of the holes
	if n := r.own.wqes.len(); i >= n {
		before = r.holes + i - n
	}
	return free > before && r.shared.claimed < free
}

// consume takes the oldest receive out.
func (r *receives) consume() *recvWQE {
	w := r.own.wqes.pop()
	if r.shared == nil {
		return w
	}
	if w.taken {
		r.shared.claimed--
	} else {
		r.holes--
	}
	return w
}

// posted says whether a receive is a request of the program, which gets a
// completion, or the place of a message that has not claimed one.
func (r *receives) posted(w *recvWQE) bool { return r.shared == nil || w.taken }

// clear forgets everything.
func (r *receives) clear() {
	for r.own.wqes.len() > 0 {
		r.consume()
	}
}
