//go:build ibverbs && linux && cgo

package ibverbs

import "github.com/braid-rdma/braid/transport"

// workQueue remembers the requests that the NIC has, because what it says of one that
// failed is little: neither its operation nor its length.
type workQueue struct {
	requests []request // a ring; its length is a power of two
	depth    uint32
	// head and tail number the oldest request and the next; they wrap.
	head, tail uint32
}

// markers is how many requests of the engine itself a queue has beyond its depth: that
// of keepalive and that of qp.drain.
const markers = 2

type request struct {
	id       uint64
	marker   bool
	op       transport.Op
	signaled bool
	length   uint32
	spans    []transport.Span // of a receive of datagrams, whose beginning tells the source
}

func newWorkQueue(depth int) workQueue {
	size := 1
	for size < depth+markers {
		size *= 2
	}
	return workQueue{requests: make([]request, size), depth: uint32(depth)}
}

func (w *workQueue) len() uint32 { return w.tail - w.head }
func (w *workQueue) full() bool  { return w.len() >= w.depth }

// at is the place of a request.
func (w *workQueue) at(sequence uint32) *request {
	return &w.requests[sequence&uint32(len(w.requests)-1)]
}

// push adds the next request, with the spans' memory of the last one in its place.
func (w *workQueue) push(id uint64, op transport.Op, signaled bool, length uint32) *request {
	r := w.at(w.tail)
	r.marker = false
	r.id, r.op, r.signaled, r.length, r.spans = id, op, signaled, length, r.spans[:0]
	w.tail++
	return r
}

// take removes a request and those before it, which are done as well: they were not
// signalled and did not fail. It is nil for a request that is gone, as after a reset.
func (w *workQueue) take(sequence uint32) *request {
	if sequence-w.head >= w.len() {
		return nil
	}
	w.head = sequence + 1
	return w.at(sequence)
}

// clear forgets all requests. Their numbers are not used again, so that what the NIC
// still says of them is known to be old.
func (w *workQueue) clear() { w.head = w.tail }

// The identifier that the NIC has of a request says whose it is: bit 32 is set in
// those of receives, with the queue pair above and the request's number below.

func makeID(qp uint32, receive bool, sequence uint32) uint64 {
	id := uint64(qp)<<33 | uint64(sequence)
	if receive {
		id |= 1 << 32
	}
	return id
}

func parseID(id uint64) (qp uint32, receive bool, sequence uint32) {
	return uint32(id >> 33), id>>32&1 != 0, uint32(id)
}
