package fuzz

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/braid-rdma/braid/verbs"
)

// Keys end in two ways. A SEND with invalidate ends the key of memory that was leased
// to its sender, and the WRITEs before it, which use the key, must not be refused
// though they may arrive later. Or the owner ends the key of its window while the peer
// uses it (a local invalidation): from then on no byte of it may change, and what
// the peer asks of it fails.

// planLeases gives every SEND with invalidate memory of the peer whose key it ends,
// and the WRITEs before it that are to use that memory.
func (e *end) planLeases() {
	p := e.peer()
	var lease, ended *memory
	for i := len(e.ops) - 1; i >= 0; i-- {
		o := e.ops[i]
		switch {
		case o.kind == verbs.OpSendInv:
			lease = &memory{}
			p.leases = append(p.leases, lease)
			o.lease = lease
			if ended == nil {
				ended = lease
			}
		case o.leased && lease != nil:
			o.lease = lease
		}
	}
	for _, o := range e.ops {
		if o.stray {
			o.lease = ended // nil: the scenario was cut down, and it goes to the window
		}
	}
}

func (e *end) openLeases(pd *verbs.PD, r *rand.Rand) error {
	for _, m := range e.leases {
		if err := m.allocate(pd, r, verbs.LocalWrite|verbs.RemoteWrite|verbs.RemoteInvalidate); err != nil {
			return err
		}
	}
	return nil
}

// remoteMemory is the memory of the peer that an operation names.
func (e *end) remoteMemory(o *operation) *memory {
	if o.lease != nil {
		return o.lease
	}
	return &e.peer().window
}

// revoke ends the key of the window.
func (e *end) revoke() {
	if e.w.closed || e.revoked {
		return
	}
	end := e.w.rekey
	if e.spec.closes {
		end = e.w.deregister
	}
	if err := end(e.window.mr); err != nil {
		e.fail("the key of the window does not end: %v", err)
	}
	e.revoked = true
	e.frozen = binary.NativeEndian.Uint64(e.window.at(e.counter, 8))
}

// rekeyed ends the remote key of a region by giving it another one.
func rekeyed(mr *verbs.MR) error {
	_, err := mr.Rekey()
	return err
}

// trespasses says whether an operation of this end names a key that is ended.
func (e *end) trespasses(o *operation) bool {
	if o.length == 0 || o.isSend() {
		return false // the key of no bytes is not looked at
	}
	return o.stray && o.lease != nil || o.lease == nil && e.peer().revoked
}

// excluded says whether this end has refused the peer for a key that is ended: then
// its queue pair is in error, and what it has posted itself is flushed.
func (e *end) excluded() bool {
	if e.qp.State() != verbs.Err {
		return false
	}
	p := e.peer()
	for _, o := range p.ops[:p.posted] {
		if p.trespasses(o) {
			return true
		}
	}
	return false
}
