package perf

import "github.com/braid-rdma/braid/verbs"

// refillBatch is how many receives are posted with one call.
const refillBatch = 64

// receiver keeps the receive queue of a queue pair filled. Receives take the
// slots of the shared memory in turn, as the peer's messages take those of its
// local memory, so message and slot correspond.
type receiver struct {
	qp     *verbs.QP
	layout layout
	index  int
	posted uint64
	used   int // receives consumed and not yet replaced
	batch  [refillBatch]verbs.RecvWR
}

func newReceiver(e *endpoint, index int) receiver {
	r := receiver{qp: e.qps[index], layout: e.layout, index: index}
	for i := range r.batch {
		r.batch[i].SGEs = []verbs.SGE{e.shared.SGE(0, e.layout.size)}
	}
	return r
}

// refill posts n further receives.
func (r *receiver) refill(n int) error {
	for n > 0 {
		batch := r.batch[:min(n, refillBatch)]
		for i := range batch {
			batch[i].ID = uint64(r.index) << countBits
			batch[i].SGEs[0].Offset = uint64(r.layout.offset(r.index, r.posted+uint64(i)))
		}
		if _, err := r.qp.PostRecvs(batch); err != nil {
			return err
		}
		r.posted += uint64(len(batch))
		n -= len(batch)
	}
	return nil
}

// noteReceive takes a receive completion into account.
func (e *endpoint) noteReceive(c *verbs.Completion) { e.receive[c.WRID>>countBits].used++ }

// replaceReceives posts a receive for each that was consumed.
func (e *endpoint) replaceReceives() error {
	for i := range e.receive {
		r := &e.receive[i]
		if r.used == 0 {
			continue
		}
		if err := r.refill(r.used); err != nil {
			return err
		}
		r.used = 0
	}
	return nil
}

// isReceive says whether a completion belongs to a receive.
func isReceive(c *verbs.Completion) bool {
	return c.Op == verbs.OpRecv || c.Op == verbs.OpRecvWriteImm
}
