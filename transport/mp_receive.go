package transport

import "github.com/braid-rdma/braid/wire"

// mpReceiver is the receiving side of an MP queue pair: what has arrived, where
// its payload goes (mp_admit), and what happens when everything before it has
// arrived (mp_deliver). It changes its own state and the memory and receives that it was
// given. What is left to do it returns, and the queue pair does it: acknowledge, complete,
// end the connection.
type mpReceiver struct {
	in       [numStreams]inStream
	memory   Memory
	awaiting awaitedRequests
	receives *receives
	count    *Counters
	observe  func(degree int) // MPOptions.ObserveDegree
	pd       PD
	mtu      int
	slots    seq    // L
	taken    uint32 // receives consumed so far
	served   uint16 // responder resources
	rnrTimer uint8  // code of the wait that a peer without a receive is asked for
	owed     owedResponses
	guesses  keyGuesses
}

// awaitedRequests are the READs and atomics of this side.
type awaitedRequests interface {
	// awaited finds the one that a response belongs to, nil if there is none, and
	// says whether it is the oldest.
	awaited(msn uint32) (w *sendWQE, oldest bool)
}

// inStream is the receiving side of one stream (§3.3.1).
type inStream struct {
	nxt   seq // rcv_nxt: the head of the bitmap
	slots bitmap
	ahead uint16 // packets accepted ahead of the head
	tails tails  // what to do when the head reaches a tail with completion
}

// arrival is what becomes of a data packet. The zero value drops it. It has no more fields, and cause apart, so
// that the compiler keeps it in registers.
type arrival struct {
	fate    packetFate
	verdict Verdict // of the engine
	cause
	at seq // the packet
}

// cause is why a packet is not taken.
type cause struct {
	syndrome wire.Syndrome // arrivalNacked, arrivalRefused
	status   Status        // arrivalFailed; arrivalRefused: of the receive, if one fails with it
	receive  uint64        // arrivalRefused: the work request of that receive
}

// packetFate is what the queue pair does about a data packet.
type packetFate uint8

const (
	arrivalDropped  packetFate = iota // nothing: it has no place, or will come again
	arrivalTaken                      // acknowledge it, and let accept deliver what is complete
	arrivalRepeated                   // acknowledge it again: the first acknowledgement may be lost
	arrivalNacked                     // tell the peer why it was dropped
	arrivalRefused                    // end the connection: the request breaks a rule
	arrivalFailed                     // end the connection: the response cannot be taken
)

// start begins both streams.
func (r *mpReceiver) start(first wire.PSN, slots int) {
	r.slots = seq(slots)
	for id := range r.in {
		r.in[id] = inStream{nxt: firstSeq(first), slots: newBitmap(slots)}
	}
}

// reached is what acknowledgements say of both streams.
func (r *mpReceiver) reached() reached {
	return reached{heads: [numStreams]seq{r.in[requests].nxt, r.in[responses].nxt}, receives: r.taken}
}

// arrive looks at a data packet of a stream. Of one that is taken, the payload goes
// straight to its place in memory, p.Spans, in order or not (§3.4); accept is next.
func (r *mpReceiver) arrive(id streamID, p *Packet) arrival {
	in := &r.in[id]
	s := extend(p.PSN, in.nxt)
	if s < in.nxt || s < in.nxt+r.slots && in.slots.at(s) != empty {
		return r.duplicate(in, s)
	}
	if s >= in.nxt+r.slots {
		// §3.3.2: beyond the bitmap the packet is dropped.
		r.count.OutOfSequence++
		return arrival{fate: arrivalNacked, cause: cause{syndrome: wire.NakPSNSequence}, at: s}
	}
	if p.MP.Sync && in.nxt+seq(p.MP.Offset) < s {
		// §3.4: a synchronise operation updates memory only after all previous
		// operations; the receiver drops an early one and sends a NACK.
		r.count.EarlySynchronise++
		return arrival{fate: arrivalNacked, cause: cause{syndrome: wire.NakEarlySynchronise}, at: s}
	}
	a := r.admit(s, p)
	a.at = s
	if a.fate == arrivalTaken {
		r.count.PacketsReceived++
		r.count.BytesReceived += uint64(p.Length)
		if p.Marked {
			r.count.ECNMarked++
		}
	}
	return a
}

// named is the packet that the NAK of a packet names: of one beyond the bitmap that which is missing (§3.5).
func (r *mpReceiver) named(id streamID, a arrival) seq {
	if a.syndrome == wire.NakPSNSequence {
		return r.in[id].nxt
	}
	return a.at
}

// duplicate is what becomes of a packet that has arrived before.
func (r *mpReceiver) duplicate(in *inStream, s seq) arrival {
	if in.nxt > s+2*MaxTrackingSlots {
		r.count.Stale++
		return arrival{}
	}
	r.count.DuplicateRequest++
	return arrival{fate: arrivalRepeated, verdict: Done, at: s}
}

// accept marks the slot of a packet that was taken and lets the head move. It
// finds the first delivery, and advance the further ones; both return whether there is one.
// In order, it does not touch the bitmap at all.
func (r *mpReceiver) accept(id streamID, s seq, p *Packet, d *delivery) bool {
	op, in := p.Opcode.Base(), &r.in[id]
	if r.observe != nil {
		r.observe(int(s - in.nxt))
	}
	needsAction := op.Ends() && (id == responses || op.IsSend() || op.HasImm() || op == wire.ReadRequest || op.IsAtomic())
	if s != in.nxt {
		r.acceptAhead(in, s, p, needsAction)
		return false
	}
	if needsAction {
		t := tailOf(s, p, r.mtu)
		if r.deliver(in, &t, d) {
			return true
		}
	} else {
		in.nxt++
	}
	return in.ahead > 0 && r.advance(id, d)
}

// acceptAhead keeps a packet until the head reaches it.
func (r *mpReceiver) acceptAhead(in *inStream, s seq, p *Packet, needsAction bool) {
	r.count.OOOAccepted++
	r.count.MaxOutOfOrder = max(r.count.MaxOutOfOrder, uint64(s-in.nxt))
	in.ahead++
	switch {
	case needsAction:
		in.slots.set(s, tailCompletion)
		in.tails.add(tailOf(s, p, r.mtu))
	case p.Opcode.Base().Ends():
		in.slots.set(s, tail)
	default:
		in.slots.set(s, received)
	}
}

// advance moves the head over what has arrived, up to and including the next
// delivery. The paper moves it message by message; packet by packet a message
// may be longer than L.
func (r *mpReceiver) advance(id streamID, d *delivery) bool {
	in := &r.in[id]
	for in.ahead > 0 {
		v := in.slots.at(in.nxt)
		if v == empty {
			break
		}
		in.slots.set(in.nxt, empty)
		in.ahead--
		if v != tailCompletion {
			in.nxt++
			continue
		}
		t := in.tails.pop()
		if r.deliver(in, &t, d) {
			return true
		}
	}
	return false
}

// tailOf keeps what the action at the head will need.
func tailOf(s seq, p *Packet, mtu int) tailRecord {
	t := tailRecord{at: s, opcode: p.Opcode.Base(), solicited: p.Solicited, msn: p.MP.MSN, imm: uint32(p.Imm)}
	switch op := t.opcode; {
	case op.IsSend():
		t.bytes = p.MP.Offset*uint32(mtu) + uint32(p.Length)
		t.rkey = p.IETH.RKey
	case op.IsWrite():
		t.bytes = p.RETH.Length
	case op == wire.ReadRequest:
		t.bytes, t.va, t.rkey = p.RETH.Length, p.RETH.VA, p.RETH.RKey
	case op == wire.AtomicAcknowledge:
		t.a = p.AtomicAck.Original
	case op.IsAtomic():
		t.va, t.rkey = p.AtomicETH.VA, p.AtomicETH.RKey
		t.a, t.b = p.AtomicETH.SwapAdd, 0
		if op == wire.CompareSwap {
			t.a, t.b = p.AtomicETH.Compare, p.AtomicETH.SwapAdd
		}
	}
	return t
}

// handleData takes a data packet: the receiver looks at it, and this side does
// what that asks for.
func (m *MP) handleData(now Time, p *Packet) Verdict {
	m.receivedFromPeer(now)
	m.alive.refusals = 0
	m.tellAgain(p)
	id := streamOf(p.Opcode.Base())
	if id == requests && m.end.phase != phaseOpen {
		return Drop
	}
	a := m.recv.arrive(id, p)
	switch a.fate {
	case arrivalTaken:
		if id == responses {
			// The peer is at work on what we asked for, and what it cannot take before
			// that is done needs patience: a response is as good as an acknowledgement, which
			// in RC it is.
			m.out[requests].since = now
		}
		m.ack.owe(id, a.at, p, m.opt.BatchAcks)
		var d delivery
		for more := m.recv.accept(id, a.at, p, &d); more; more = m.recv.advance(id, &d) {
			if !m.delivered(now, &d) {
				break
			}
		}
	case arrivalRepeated:
		m.ack.owe(id, a.at, p, m.opt.BatchAcks)
	case arrivalNacked:
		m.ack.refuse(id, a.syndrome, m.recv.named(id, a), a.at, p)
	case arrivalRefused:
		if a.status != Success {
			m.complete(Completion{WRID: a.receive, Status: a.status, Op: OpRecv})
		}
		m.end.refuse(a.syndrome, a.at)
	case arrivalFailed:
		m.failResponse(now, a.status)
	}
	return a.verdict
}

// delivered does what a delivery asks for. It returns false when the connection
// ends here.
func (m *MP) delivered(now Time, d *delivery) bool {
	switch d.what {
	case deliveredReceive:
		m.complete(d.completion)
	case deliveredResponse:
		m.responded(now)
	case deliveryRefused:
		m.end.refuse(d.syndrome, d.at)
		return false
	case deliveryFailed:
		m.failResponse(now, d.status)
		return false
	}
	return true
}

// failResponse ends the connection because of a response. Where the memory for it
// is gone, what was delivered before its request completes first.
func (m *MP) failResponse(now Time, status Status) {
	if status == LocProtErr {
		m.deliveredBefore(now)
	}
	m.fail(status)
}
