package transport

import "github.com/braid-rdma/braid/wire"

// delivery is what happens when the head of a stream passes the last packet of a
// message, as far as it is the business of the queue pair.
type delivery struct {
	what       delivered
	status     Status        // deliveryFailed
	syndrome   wire.Syndrome // deliveryRefused
	at         seq           // deliveryRefused: the request
	completion Completion    // deliveredReceive
}

type delivered uint8

const (
	deliveredNothing  delivered = iota
	deliveredReceive            // a receive is complete
	deliveredResponse           // the oldest READ or atomic has its response
	deliveryRefused             // end the connection: the request cannot be executed
	deliveryFailed              // end the connection: the response cannot be taken
)

// deliver acts on the last packet of a message when the head of the stream
// reaches it: everything before it has arrived, so completions are in order,
// and READs and atomics see all earlier writes. The head moves on, unless the
// connection ends here. It returns whether the queue pair has to do something, and fills d then.
func (r *mpReceiver) deliver(in *inStream, t *tailRecord, d *delivery) bool {
	switch op := t.opcode; {
	case op.IsSend():
		*d = r.deliverReceive(t, OpRecv)
	case op.IsWrite():
		*d = r.deliverReceive(t, OpRecvWriteImm)
	case op == wire.ReadRequest:
		*d = r.deliverRead(t)
	case op.IsAtomic():
		*d = r.deliverAtomic(t)
	default:
		*d = r.deliverResponse(t)
	}
	if d.what < deliveryRefused {
		in.nxt++
	}
	return d.what != deliveredNothing
}

// refused ends the connection with the request of a message.
func (t *tailRecord) refused(y wire.Syndrome) delivery {
	return delivery{what: deliveryRefused, syndrome: y, at: t.at}
}

// malformed refuses a message that breaks the protocol.
func (r *mpReceiver) malformed(t *tailRecord) delivery {
	r.count.Malformed++
	return t.refused(wire.NakInvalidRequest)
}

// denied refuses a message without the right to the memory that it names.
func (r *mpReceiver) denied(t *tailRecord) delivery {
	r.count.AccessErrors++
	return t.refused(wire.NakRemoteAccess)
}

// deliverResponse completes the oldest READ or atomic. Admission saw that the
// response belongs to something; that it is the turn of just this one can only
// be known here, and a peer that responds out of turn is not believed.
func (r *mpReceiver) deliverResponse(t *tailRecord) delivery {
	w, oldest := r.awaiting.awaited(t.msn)
	atomic := t.opcode == wire.AtomicAcknowledge
	if w == nil || !oldest || w.Op.isAtomic() != atomic {
		r.count.Malformed++
		return delivery{what: deliveryFailed, status: BadRespErr}
	}
	if anyInvalid(w.SGEs) {
		return delivery{what: deliveryFailed, status: LocProtErr}
	}
	if atomic {
		r.memory.Store(w.SGEs[0], t.a)
	}
	return delivery{what: deliveredResponse}
}

func (r *mpReceiver) deliverReceive(t *tailRecord, op Op) delivery {
	w := r.receives.at(0)
	if w == nil || t.msn != r.taken&wire.PSNMask {
		return r.malformed(t) // its packets were placed by a number that is not theirs
	}
	c := Completion{WRID: w.id, Op: op, Bytes: t.bytes, Solicited: t.solicited}
	if t.opcode.HasImm() {
		c.HasImm, c.Imm = true, t.imm
	}
	if t.opcode == wire.SendLastInv || t.opcode == wire.SendOnlyInv {
		if !r.memory.Invalidate(r.pd, t.rkey) {
			return r.denied(t)
		}
		c.HasInv, c.InvalidatedRKey = true, t.rkey
	}
	r.receives.consume()
	r.taken++
	return delivery{what: deliveredReceive, completion: c}
}

// owedResponses are the READs and atomics of the peer that were executed and whose
// responses are not acknowledged.
type owedResponses struct {
	waiting    fifo[outMessage] // to begin
	unfinished int              // those and the ones that have begun and are not acknowledged
}

// add queues a response to the request that t ends.
func (o *owedResponses) add(t *tailRecord, r outMessage) {
	r.msn, r.request = t.msn, t.at
	*o.waiting.push() = r
	o.unfinished++
}

// clear forgets them.
func (o *owedResponses) clear() {
	o.waiting.clear()
	o.unfinished = 0
}

// responsesAhead is how many responses may be unacknowledged beyond the
// resources agreed on. The peer may have received them and gone on asking
// while every acknowledgement of them was lost; so many in a row are not.
const responsesAhead = 256

// mayRespond says whether one more response can be kept. A peer that has more
// READs and atomics outstanding than agreed on breaks the protocol.
func (r *mpReceiver) mayRespond() bool {
	return r.served > 0 && r.owed.unfinished < int(r.served)+responsesAhead
}

func (r *mpReceiver) deliverRead(t *tailRecord) delivery {
	if t.bytes > MaxMessage || !r.mayRespond() {
		return r.malformed(t)
	}
	if _, ok := r.memory.Resolve(r.pd, t.rkey, t.va, t.bytes, RemoteRead); !ok {
		return r.denied(t)
	}
	r.owed.add(t, outMessage{
		kind: outReadResponse, rkey: t.rkey, va: t.va, length: t.bytes, packets: packetsFor(t.bytes, r.mtu),
	})
	return delivery{}
}

func (r *mpReceiver) deliverAtomic(t *tailRecord) delivery {
	if t.va%8 != 0 {
		return r.malformed(t)
	}
	span, ok := r.memory.Resolve(r.pd, t.rkey, t.va, 8, RemoteAtomic)
	if !ok {
		return r.denied(t)
	}
	op := FetchAdd
	if t.opcode == wire.CompareSwap {
		op = CompareSwap
	}
	// The resources are checked before the operation has an effect.
	if !r.mayRespond() {
		return r.malformed(t)
	}
	r.owed.add(t, outMessage{kind: outAtomicResponse, value: r.memory.Atomic(span, op, t.a, t.b), length: 8, packets: 1})
	return delivery{}
}
