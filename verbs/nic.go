package verbs

import "github.com/braid-rdma/braid/transport"

// NIC is an engine whose network adapter has queue pairs and a memory table of its
// own. They take the place of the state machines of package transport, and the
// adapter chooses the numbers of queue pairs and the keys of regions, which verbs
// draws otherwise. All methods are locked.
type NIC interface {
	// NewQP makes a queue pair of the adapter. Of the number in cfg only one matters:
	// that of the management queue pair, which is asked for by it. Detach frees the
	// queue pair. Of its methods only those are called that verbs needs: an adapter
	// handles packets and timeouts by itself. It keeps nothing of a request that is
	// posted after the post has returned.
	NewQP(kind QPType, cfg transport.Config) (transport.QP, error)
	// Register makes a region known to the adapter and fills in its keys, which it has
	// for life.
	Register(r *transport.Region) error
	// Deregister ends that. When it returns, the adapter does not touch the memory any
	// more.
	Deregister(r *transport.Region) error
}

// nicRequests holds the copies of requests that a queue pair of an adapter is given.
// It is called by its interface, of which the compiler must assume that it keeps the
// request; the request of a program would have to be on the heap.
type nicRequests struct {
	send   SendWR
	recv   RecvWR
	inline [transport.MaxInline + 1]byte
}

func (n *nicRequests) copySend(wr *SendWR) *SendWR {
	n.send.CopyScalars(wr)
	n.send.SGEs = append(n.send.SGEs[:0], wr.SGEs...)
	n.send.Inline = nil
	if wr.Inline != nil {
		// Of too many bytes one too many is enough to be refused.
		n.send.Inline = n.inline[:copy(n.inline[:], wr.Inline)]
	}
	return &n.send
}

func (n *nicRequests) copyRecv(wr *RecvWR) *RecvWR {
	n.recv.ID = wr.ID
	n.recv.SGEs = append(n.recv.SGEs[:0], wr.SGEs...)
	return &n.recv
}
