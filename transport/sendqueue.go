package transport

import "github.com/braid-rdma/braid/wire"

// sendWQE is a posted send request and how far it has come.
type sendWQE struct {
	SendWR
	length  uint32
	inline  Region   // backs the span of inline data
	psn     wire.PSN // of RC: first packet, once started
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
	length, err := c.CheckSend(wr)
	if err != nil {
		return err
	}
	if q.wqes.len()-q.keepalives >= q.depth {
		return ErrQueueFull
	}
	q.push(wr, length)
	return nil
}

// pushKeepalive queues a WRITE of no bytes, which any responder acknowledges and
// which changes nothing there: no key is needed (IBTA 9.7.4.1), no receive taken.
func (q *sendQueue) pushKeepalive() {
	q.push(&SendWR{Op: OpWrite}, 0)
	q.wqes.at(q.wqes.len() - 1).keepalive = true
	q.keepalives++
}

// push copies a request of length bytes into the queue.
func (q *sendQueue) push(wr *SendWR, length uint32) {
	w := q.wqes.push()
	w.CopyScalars(wr)
	w.SGEs, w.length = w.SGEs[:0], length // the memory of the slot's last request
	w.psn, w.packets, w.arrived, w.started, w.done, w.keepalive = 0, 0, 0, false, false, false
	if wr.Inline == nil {
		w.SGEs = appendSGEs(w.SGEs, wr.SGEs)
		return
	}
	w.inline.Bytes = append(w.inline.Bytes[:0], wr.Inline...)
	w.inline.Length = uint64(length)
	if length > 0 {
		w.SGEs = append(w.SGEs, SGE{Region: &w.inline, Length: length})
	}
}

// CopyScalars copies all of a request but its lists. Copying the whole struct, the
// compiler would move the lists of every program that posts to the heap.
func (w *SendWR) CopyScalars(wr *SendWR) {
	w.ID, w.Op, w.Flags = wr.ID, wr.Op, wr.Flags
	w.RemoteAddr, w.RKey, w.Imm = wr.RemoteAddr, wr.RKey, wr.Imm
	w.Compare, w.SwapAdd = wr.Compare, wr.SwapAdd
	w.AH, w.RemoteQPN, w.RemoteQKey = wr.AH, wr.RemoteQPN, wr.RemoteQKey
}

// CheckSend checks the operation and the local side of a request: the inline bytes,
// or elements, that are its source or destination. It returns their length.
func (c *Config) CheckSend(wr *SendWR) (uint32, error) {
	if wr.Op >= numSendOps {
		return 0, ErrOperation
	}
	if wr.Inline != nil {
		if len(wr.SGEs) != 0 || wr.Op.awaitsResponse() || len(wr.Inline) > c.MaxInline {
			return 0, ErrInline
		}
		return uint32(len(wr.Inline)), nil
	}
	var want Access
	if wr.Op.awaitsResponse() {
		want = LocalWrite
	}
	length, err := checkSGEs(wr.SGEs, c.MaxSendSGE, c.PD, want)
	if err != nil {
		return 0, err
	}
	if wr.Op.isAtomic() && (length != 8 || len(wr.SGEs) != 1) {
		return 0, ErrAtomicShape
	}
	return uint32(length), nil
}

// CheckRecv checks the elements of a receive. It returns their length.
func (c *Config) CheckRecv(wr *RecvWR) (uint64, error) {
	return checkSGEs(wr.SGEs, c.MaxRecvSGE, c.PD, LocalWrite)
}

// packetsFor is the number of packets of a message: an empty one takes one.
func packetsFor(length uint32, mtu int) uint32 {
	return max(1, (length+uint32(mtu)-1)/uint32(mtu))
}
