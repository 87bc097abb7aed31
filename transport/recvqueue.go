package transport

// recvWQE is a posted receive.
type recvWQE struct {
	id     uint64
	length uint64
	spans  []Span // backing array reused with the slot
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
	if len(wr.Spans) > r.maxSGE {
		return ErrTooManySGE
	}
	for _, s := range wr.Spans {
		if s.Region.Invalid || s.Region.PD != r.pd || s.Region.Access&LocalWrite == 0 {
			return ErrLocalAccess
		}
	}
	length := totalLength(wr.Spans)
	if length > MaxMessage {
		return ErrTooLong
	}
	if r.wqes.len() >= r.depth {
		return ErrQueueFull
	}
	w := r.wqes.push()
	w.id, w.length = wr.ID, length
	w.spans = append(w.spans[:0], wr.Spans...)
	return nil
}

// receives is the queue pair's side of receiving: the requests it may consume
// in order. With a shared queue they are claimed from it when first needed, so
// that a message which began to arrive keeps its buffer.
type receives struct {
	own    *ReceiveQueue
	shared *ReceiveQueue
}

// at returns the i-th receive not yet consumed, claiming from the shared queue
// as needed; nil when there are too few.
func (r *receives) at(i int) *recvWQE {
	for r.shared != nil && r.own.wqes.len() <= i && r.shared.wqes.len() > 0 {
		r.own.wqes.push().copyFrom(r.shared.wqes.pop())
	}
	if i < 0 || i >= r.own.wqes.len() {
		return nil
	}
	return r.own.wqes.at(i)
}

func (r *receives) consume() { r.own.wqes.pop() }
