package verbs

import (
	"fmt"

	"github.com/braid-rdma/braid/transport"
)

// Retype makes an RC queue pair of an MP one, or the reverse, while it is in
// RESET or INIT: then it is in RESET, and the receives that were posted have been
// flushed. It keeps its number, the packet number of its first packet, its queues
// and its options, as far as the new type has a use for them; so a connection
// manager can name a queue pair to a peer before it knows which types the peer has.
// One that has the type already stays as it is.
func (q *QP) Retype(kind QPType) error {
	if err := q.lock(); err != nil {
		return err
	}
	defer q.loop.Unlock()
	if kind == UD || q.kind == UD {
		return fmt.Errorf("%w: datagrams and connections are not made of each other", ErrParams)
	}
	if s := q.transport.State(); s != Reset && s != Init {
		return fmt.Errorf("%w: %v; Retype needs RESET or INIT", ErrState, s)
	}
	if kind == q.kind {
		return nil
	}
	o, d := q.options, q.device
	o.Type, o.Conn.Paths = kind, 1
	if !q.ownAck {
		o.Conn.AckTimeout = defaultAckTimeout(kind)
	}
	if kind == MP {
		o.Conn.Paths = d.info.Paths
		if o.Conn.MTU == d.info.MTU { // the largest of RC: MP may have larger ones
			o.Conn.MTU = d.info.MTUOf(MP)
		}
	} else {
		o.Conn.MTU = transport.StandardMTU(o.Conn.MTU)
	}
	t, err := d.newTransport(kind, o.config(q.pd, q.loop, q.number))
	if err != nil {
		return err
	}
	q.failLocked() // which flushes receives
	q.deliverLocked()
	old := q.transport
	q.loop.Detach(old)
	if err := q.attach(t); err != nil {
		// The number was free a moment ago, so the old one fits in its place.
		_ = q.attach(old)
		return err
	}
	q.kind, q.options = kind, o
	return nil
}
