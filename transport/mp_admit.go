package transport

import "github.com/braid-rdma/braid/wire"

// admit checks a packet against the protocol and the memory and finds where
// its payload goes. A packet that breaks a rule is fatal only at the head of
// the stream, where everything before it has arrived; ahead of it the packet
// is dropped and will come again.
func (r *mpReceiver) admit(s seq, p *Packet) arrival {
	op := p.Opcode.Base()
	if !wellFormed(op, p, r.mtu) {
		if op.IsReadResponse() || op == wire.AtomicAcknowledge {
			return r.denyMalformedResponse(s, p)
		}
		return r.denyMalformed(s)
	}
	p.Spans = p.Spans[:0]
	switch {
	case op.IsSend():
		return r.admitSend(s, p)
	case op.IsWrite():
		return r.admitWrite(s, op, p)
	case op.IsReadResponse():
		return r.admitReadResponse(s, p)
	case op == wire.AtomicAcknowledge:
		return r.admitAtomicResponse(s, p)
	case op == wire.ReadRequest, op.IsAtomic():
		return arrival{fate: arrivalTaken, verdict: Done}
	}
	return r.denyMalformed(s)
}

// wellFormed checks opcode, position and payload length against each other.
func wellFormed(op wire.Opcode, p *Packet, mtu int) bool {
	if p.Length > mtu || op.Starts() != (p.MP.Offset == 0) {
		return false
	}
	if !op.HasPayload() {
		return p.Length == 0
	}
	if !op.Ends() {
		return p.Length == mtu
	}
	return op.Starts() || p.Length > 0
}

// deny ends the connection when the offending packet is at the head.
func (r *mpReceiver) deny(s seq, y wire.Syndrome) arrival {
	if s != r.in[requests].nxt {
		return arrival{}
	}
	return arrival{fate: arrivalRefused, cause: cause{syndrome: y}}
}

func (r *mpReceiver) denyMalformed(s seq) arrival {
	r.count.Malformed++
	return r.deny(s, wire.NakInvalidRequest)
}

// denyMalformedResponse fails the request whose response is at the head of the
// responses. Each stream has numbers of its own, so that of a response says
// nothing about requests.
func (r *mpReceiver) denyMalformedResponse(s seq, p *Packet) arrival {
	r.count.Malformed++
	if w, _ := r.awaiting.awaited(p.MP.MSN); w == nil || s != r.in[responses].nxt {
		return arrival{}
	}
	return arrival{fate: arrivalFailed, cause: cause{status: BadRespErr}}
}

// denyReceive is deny where the receive that the message would consume fails too.
func (r *mpReceiver) denyReceive(s seq, y wire.Syndrome, w *recvWQE, status Status) arrival {
	a := r.deny(s, y)
	if a.fate == arrivalRefused {
		a.receive, a.status = w.id, status
		r.receives.consume()
	}
	return a
}

// receiveFor finds the receive that a message consumes: its MSN counts such
// messages (§3.1). Without one, it returns what becomes of the packet.
func (r *mpReceiver) receiveFor(s seq, p *Packet) (*recvWQE, arrival) {
	ahead := wire.PSN(p.MP.MSN).Sub(wire.PSN(r.taken & wire.PSNMask))
	if ahead < 0 || ahead > int(r.slots) {
		return nil, arrival{}
	}
	w := r.receives.at(ahead)
	if w == nil {
		return nil, arrival{fate: arrivalNacked, cause: cause{syndrome: wire.RNRSyndrome(r.rnrTimer)}}
	}
	return w, arrival{}
}

func (r *mpReceiver) admitSend(s seq, p *Packet) arrival {
	w, a := r.receiveFor(s, p)
	if w == nil {
		return a
	}
	at := uint64(p.MP.Offset) * uint64(r.mtu)
	if at+uint64(p.Length) > w.length {
		return r.denyReceive(s, wire.NakInvalidRequest, w, LocLenErr)
	}
	if anyInvalid(w.spans) {
		return r.denyReceive(s, wire.NakRemoteOperational, w, LocProtErr)
	}
	return placedAt(w.spans, at, p)
}

// placedAt takes a packet whose payload goes to a place of a list of spans.
func placedAt(spans []Span, at uint64, p *Packet) arrival {
	if p.Length == 0 {
		return arrival{fate: arrivalTaken, verdict: Done}
	}
	p.Spans = appendSlice(p.Spans, spans, uint32(at), uint32(p.Length))
	return arrival{fate: arrivalTaken, verdict: Place}
}

func (r *mpReceiver) admitWrite(s seq, op wire.Opcode, p *Packet) arrival {
	at := uint64(p.MP.Offset) * uint64(r.mtu)
	end := at + uint64(p.Length)
	length := uint64(p.RETH.Length)
	if length > MaxMessage || end > length || op.Ends() != (end == length) || p.RETH.VA < at {
		return r.denyMalformed(s)
	}
	if op.HasImm() {
		if w, a := r.receiveFor(s, p); w == nil {
			return a
		}
	}
	if p.Length == 0 {
		return arrival{fate: arrivalTaken, verdict: Done}
	}
	// The whole range of the WRITE is checked with every packet of it, so that
	// one that reaches too far leaves no byte behind.
	span, ok := r.memory.Resolve(r.pd, p.RETH.RKey, p.RETH.VA-at, p.RETH.Length, RemoteWrite)
	if !ok {
		r.count.AccessErrors++
		if r.guesses.add(p.RETH.RKey) {
			return arrival{fate: arrivalRefused, cause: cause{syndrome: wire.NakRemoteAccess}}
		}
		return r.deny(s, wire.NakRemoteAccess)
	}
	p.Spans = append(p.Spans, Span{span.Region, span.Offset + at, uint32(p.Length)})
	return arrival{fate: arrivalTaken, verdict: Place}
}

func (r *mpReceiver) admitReadResponse(s seq, p *Packet) arrival {
	w, oldest := r.awaiting.awaited(p.MP.MSN)
	if w == nil || w.Op != OpRead {
		r.count.Malformed++
		return arrival{}
	}
	at := uint64(p.MP.Offset) * uint64(r.mtu)
	end := at + uint64(p.Length)
	if end > uint64(w.length) || p.Opcode.Ends() != (end == uint64(w.length)) {
		r.count.Malformed++
		return arrival{fate: arrivalFailed, cause: cause{status: BadRespErr}}
	}
	if anyInvalid(w.SGEs) {
		return r.denyResponse(s, oldest)
	}
	return placedAt(w.SGEs, at, p)
}

func (r *mpReceiver) admitAtomicResponse(s seq, p *Packet) arrival {
	w, oldest := r.awaiting.awaited(p.MP.MSN)
	if w == nil || !w.Op.isAtomic() {
		r.count.Malformed++
		return arrival{}
	}
	if anyInvalid(w.SGEs) {
		return r.denyResponse(s, oldest)
	}
	return arrival{fate: arrivalTaken, verdict: Done}
}

// denyResponse drops a response whose memory is gone. At the head of its
// stream, and in its turn, it ends the connection; before that it would be
// blamed on an earlier request.
func (r *mpReceiver) denyResponse(s seq, oldest bool) arrival {
	if !oldest || s != r.in[responses].nxt {
		return arrival{}
	}
	return arrival{fate: arrivalFailed, cause: cause{status: LocProtErr}}
}

// keyGuesses remembers the remote keys that were refused. A packet ahead of the
// head is refused without a NAK, since what comes before may explain it;
// a peer that withholds the head could thus try keys for ever.
type keyGuesses struct {
	wrong [maxWrongKeys]wire.RKey
	count uint8
}

// maxWrongKeys is how many different wrong keys end a connection. A program
// that uses a key after its end does so with one, or a few, in many packets.
const maxWrongKeys = 8

// add notes a wrong key, and returns whether there were too many.
func (g *keyGuesses) add(key wire.RKey) bool {
	for _, k := range g.wrong[:g.count] {
		if k == key {
			return false
		}
	}
	if g.count == maxWrongKeys {
		return true
	}
	g.wrong[g.count] = key
	g.count++
	return false
}
