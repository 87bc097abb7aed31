package transport

import "github.com/braid-rdma/braid/wire"

// sendWQE is a posted send request and how far it has come.
type sendWQE struct {
	SendWR
	length  uint32
	inline  Region   // backs the span of inline data
	psn     wire.PSN // first packet, once started
	packets uint32   // packets that the request takes of the PSN space
	arrived uint32   // packets of the response that had arrived when the rest was last asked for again (RC)
	started bool
	done    bool // acknowledged or responded to; retired in order
	// keepalive marks a request of the queue pair itself: it has no completion, and
	// the depth of the queue, which is the program's, does not count it.
	keepalive bool
}

// sendQueue holds send requests from posting until they retire in order.
type sendQueue struct {
	wqes  fifo[sendWQE]
	depth int
	// started counts the requests, from the head, whose first packet was sent.
	started int
	// retired counts the requests that have left the queue, so that a request
	// has a number for life: its place is its number minus retired.
	retired uint64
	// keepalives is the number of requests in the queue that are marked so.
	keepalives int
}

// pop removes the oldest request.
func (q *sendQueue) pop() *sendWQE {
	q.retired++
	q.started = max(0, q.started-1)
	w := q.wqes.pop()
	if w.keepalive {
		q.keepalives--
	}
	return w
}

// clear forgets all requests.
func (q *sendQueue) clear() {
	q.wqes.clear()
	q.started, q.keepalives = 0, 0
}

// byNumber returns the request with the given number, nil once it has retired.
func (q *sendQueue) byNumber(n uint64) *sendWQE {
	i := int(n - q.retired)
	if i < 0 || i >= q.wqes.len() {
		return nil
	}
	return q.wqes.at(i)
}

// pending says whether a request waits to be started.
func (q *sendQueue) pending() bool { return q.started < q.wqes.len() }

// post checks a request against the limits of the queue pair and copies it.
func (q *sendQueue) post(c *Config, wr *SendWR) error {
	if wr.Op >= numSendOps {
		return ErrOperation
	}
	if len(wr.Spans) > c.MaxSendSGE {
		return ErrTooManySGE
	}
	if err := checkLocal(c, wr); err != nil {
		return err
	}
	if q.wqes.len()-q.keepalives >= q.depth {
		return ErrQueueFull
	}
	q.push(wr)
	return nil
}

// pushKeepalive queues a WRITE of no bytes, which any responder acknowledges and
// which changes nothing there: no key is needed (IBTA 9.7.4.1), no receive taken.
func (q *sendQueue) pushKeepalive() {
	q.push(&SendWR{Op: OpWrite})
	q.wqes.at(q.wqes.len() - 1).keepalive = true
	q.keepalives++
}

// push copies a request into the queue.
func (q *sendQueue) push(wr *SendWR) {
	w := q.wqes.push()
	spans := w.Spans[:0] // the memory of the slot's last request
	w.SendWR = *wr
	w.Spans, w.InlineData = spans, nil
	w.psn, w.packets, w.arrived, w.started, w.done, w.keepalive = 0, 0, 0, false, false, false
	if wr.Flags&Inline != 0 {
		w.inline.Bytes = append(w.inline.Bytes[:0], wr.InlineData...)
		w.inline.Length = uint64(len(wr.InlineData))
		if len(wr.InlineData) > 0 {
			w.Spans = append(w.Spans, Span{Region: &w.inline, Length: uint32(len(wr.InlineData))})
		}
		w.length = uint32(len(wr.InlineData))
		return
	}
	w.Spans = append(w.Spans, wr.Spans...)
	w.length = uint32(totalLength(wr.Spans))
}

// checkLocal checks lengths, rights and shape of a request's local side.
func checkLocal(c *Config, wr *SendWR) error {
	if wr.Flags&Inline != 0 {
		if len(wr.Spans) != 0 || wr.Op.awaitsResponse() || len(wr.InlineData) > c.MaxInline {
			return ErrInline
		}
		return nil
	}
	length := totalLength(wr.Spans)
	if length > MaxMessage {
		return ErrTooLong
	}
	if wr.Op.isAtomic() && (length != 8 || len(wr.Spans) != 1) {
		return ErrAtomicShape
	}
	for _, s := range wr.Spans {
		if s.Region.Invalid || s.Region.PD != c.PD || wr.Op.awaitsResponse() && s.Region.Access&LocalWrite == 0 {
			return ErrLocalAccess
		}
	}
	return nil
}

// packetsFor is the number of packets of a message: an empty one takes one.
func packetsFor(length uint32, mtu int) uint32 {
	return max(1, (length+uint32(mtu)-1)/uint32(mtu))
}
