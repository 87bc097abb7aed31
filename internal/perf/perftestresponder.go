package perf

import (
	"context"
	"errors"
	"sync"

	"github.com/braid-rdma/braid/internal/perftest"
	"github.com/braid-rdma/braid/verbs"
)

// perftestResponder is the passive end of a client's test: memory that may be
// written, read and counted in, and queue pairs with receives, which all use the
// same memory. Nobody looks at what it holds.
type perftestResponder struct {
	pd     *verbs.PD
	cq     *verbs.CQ
	memory *verbs.MR
	mtu    int

	// mu guards qps: the conversation adds to them while receives are refilled.
	mu      sync.Mutex
	qps     map[verbs.QPN]*verbs.QP // by our number
	clients map[verbs.QPN]*verbs.QP // by the client's number
}

func newPerftestResponder(d *verbs.Device, mtu int) (r *perftestResponder, err error) {
	r = &perftestResponder{mtu: mtu, qps: map[verbs.QPN]*verbs.QP{}, clients: map[verbs.QPN]*verbs.QP{}}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	if r.pd, err = d.CreatePD(); err != nil {
		return r, err
	}
	if r.cq, err = d.CreateCQ(perftestQPs * (perftestDepth + 1)); err != nil {
		return r, err
	}
	rights := verbs.LocalWrite | verbs.RemoteWrite | verbs.RemoteRead | verbs.RemoteAtomic
	r.memory, err = r.pd.AllocMemory(perftestMemory, rights)
	return r, err
}

// keysFor are the keys of the queue pair that belongs to one of the client's. A
// queue pair of the client that is new gets one of its own, connected, with
// receives: the client may use it as soon as it has the reply.
func (r *perftestResponder) keysFor(client perftest.Keys) (perftest.Keys, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	qp := r.clients[client.QPN]
	if qp != nil {
		return r.describe(qp), nil
	}
	if len(r.qps) == perftestQPs {
		return perftest.Keys{}, errTooManyQPs
	}
	qp, err := r.pd.CreateQP(verbs.QPOptions{
		Type: verbs.RC, SendCQ: r.cq, SendDepth: 1, RecvDepth: perftestDepth, MaxRecvSGE: 1,
		// Clients that only send allow no remote WRITE, the question of a keepalive.
		Conn: verbs.ConnOptions{MTU: r.mtu, Keepalive: -1},
	})
	if err != nil {
		return perftest.Keys{}, err
	}
	r.qps[qp.Number()], r.clients[client.QPN] = qp, qp
	if err := qp.Prepare(); err != nil {
		return perftest.Keys{}, err
	}
	if err := r.receive(qp, perftestDepth); err != nil {
		return perftest.Keys{}, err
	}
	// The description has the first packet number, which a connection keeps.
	keys := r.describe(qp)
	return keys, qp.Connect(paramsOf(client, r.mtu))
}

func (r *perftestResponder) describe(qp *verbs.QP) perftest.Keys { return keysOf(qp, r.memory, 0) }

// receive posts n receives.
func (r *perftestResponder) receive(qp *verbs.QP, n int) error {
	wr := verbs.RecvWR{SGEs: []verbs.SGE{r.memory.All()}}
	for range n {
		if err := qp.PostRecv(&wr); err != nil {
			return err
		}
	}
	return nil
}

// refill replaces receives until ctx ends. A client that leaves flushes them,
// which is no error either.
func (r *perftestResponder) refill(ctx context.Context) error {
	completions := make([]verbs.Completion, pollBatch)
	for {
		n, err := r.cq.Wait(ctx, completions)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		for i := range completions[:n] {
			if err := completions[i].Err(); err != nil {
				if errors.Is(err, verbs.ErrFlushed) {
					continue
				}
				return explain(err)
			}
			r.mu.Lock()
			qp := r.qps[completions[i].QPN]
			r.mu.Unlock()
			if err := r.receive(qp, 1); err != nil {
				return err
			}
		}
	}
}

func (r *perftestResponder) close() {
	if r.cq != nil {
		_ = r.cq.Close()
	}
	if r.pd != nil {
		_ = r.pd.Close()
	}
}
