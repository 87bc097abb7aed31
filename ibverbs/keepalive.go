//go:build ibverbs && linux && cgo

package ibverbs

// #include "glue.h"
import "C"

import (
	"time"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// keepalive asks a silent peer whether it lives, which NICs do not do by themselves: by
// a WRITE of no bytes, which any responder acknowledges and which changes nothing
// there. The NIC repeats it as it does any request, and fails the queue pair in the end.
type keepalive struct {
	aliveAt transport.Time // when a completion showed that the peer was there
	timer   *time.Timer    // nil: not wanted
	asking  bool           // the NIC has a question that is not answered yet
}

// watchPeer begins, changes or ends the watch, as the attributes and the state say.
func (q *qp) watchPeer() {
	k := &q.keepalive
	if k.timer != nil {
		k.timer.Stop()
		k.timer = nil
	}
	if q.kind != verbs.RC || q.attr.Keepalive <= 0 || q.state != transport.RTS || q.handle == nil {
		return
	}
	k.aliveAt = q.engine.Now()
	k.timer = time.AfterFunc(time.Duration(q.attr.Keepalive), q.checkPeer)
}

// checkPeer runs when the peer may have been silent for too long.
func (q *qp) checkPeer() {
	q.engine.mu.Lock()
	defer q.engine.mu.Unlock()
	k := &q.keepalive
	if k.timer == nil || q.state != transport.RTS {
		return
	}
	silence := q.engine.Now() - k.aliveAt
	if silence < q.attr.Keepalive {
		k.timer.Reset(time.Duration(q.attr.Keepalive - silence))
		return
	}
	k.timer.Reset(time.Duration(q.attr.Keepalive))
	if !k.asking && q.postMarker(C.IBV_WR_RDMA_WRITE) {
		k.asking = true
		q.counters.Keepalives++
	}
}

// notePeerAlive notes that a request of this end, or of the peer, has succeeded.
func (q *qp) notePeerAlive() { q.keepalive.aliveAt = q.engine.Now() }

// postMarker posts a request of the engine's own, without bytes, of which the program
// is told nothing.
func (q *qp) postMarker(opcode C.uint32_t) bool {
	r := q.engine.request
	r.id, r.opcode, r.flags = C.uint64_t(makeID(q.id, false, q.sends.tail)), opcode, C.IBV_SEND_SIGNALED
	r.remote_addr, r.rkey, r.imm, r.sges, r.ah = 0, 0, 0, 0, nil
	if q.kind == verbs.UD {
		// It is flushed before anybody looks at its destination, but needs one.
		var err error
		if r.ah, err = q.domain.ah(q.engine.adapter.local); err != nil {
			return false
		}
	}
	if C.braid_post_send(q.handle, r) != 0 {
		return false
	}
	q.silent = 0
	q.sends.push(0, transport.OpWrite, true, 0).marker = true
	return true
}
