package transport

import "github.com/braid-rdma/braid/wire"

// The scripted peer's answers to what the queue pair sends.

const (
	ackOpcode   = wire.MPBit | wire.Acknowledge
	ackSyndrome = wire.Syndrome(wire.NoCredit)
)

// receive notes that the scripted peer has packet n.
func (q *mpTest) receive(n int) {
	q.peerHas[n] = true
	id := streamOfNumber(n)
	for q.peerHas[q.peerNext[id]+int(id)*firstResponse] {
		q.peerNext[id]++
	}
}

func (q *mpTest) psn(n int) wire.PSN { return mpFirst.Add(n % firstResponse) }

// ackOf is what the peer answers to the latest transmission of packet n.
func (q *mpTest) ackOf(n int) wire.MPAck {
	q.t.Helper()
	p, ok := q.sent[n]
	if !ok {
		q.t.Fatalf("packet %d was never sent", n)
	}
	id := streamOfNumber(n)
	return wire.MPAck{
		ReTx: p.MP.ReTx, Responses: id == responses, Path: p.MP.Path,
		SACK: q.psn(n), AACK: q.psn(q.peerNext[id]), SentAt: p.MP.SentAt,
	}
}

// ackEdit changes an acknowledgement before it is handed over.
type ackEdit func(*wire.MPAck)

func marked(a *wire.MPAck) { a.ECE = true }

func onPath(p Path) ackEdit { return func(a *wire.MPAck) { a.Path = uint16(p) } }

func withWindow(n uint16) ackEdit { return func(a *wire.MPAck) { a.Window = n } }

// ack acknowledges packet n by its path, one round trip after it was sent.
func (q *mpTest) ack(n int, edits ...ackEdit) Verdict {
	q.t.Helper()
	q.receive(n)
	q.until(q.sentTime(n) + mpRTT)
	a := q.ackOf(n)
	for _, e := range edits {
		e(&a)
	}
	return q.handle(a)
}

// acks acknowledges several packets in the given order.
func (q *mpTest) acks(ns ...int) {
	q.t.Helper()
	for _, n := range ns {
		q.ack(n)
	}
}

// sentTime undoes the shortening of the send time.
func (q *mpTest) sentTime(n int) Time {
	return q.now - q.now.sinceStamp(q.ackOf(n).SentAt)
}

// handle hands an acknowledgement to the queue pair.
func (q *mpTest) handle(a wire.MPAck) Verdict {
	q.t.Helper()
	return q.handlePacket(Packet{Headers: wire.Headers{
		BTH:  wire.BTH{Opcode: ackOpcode, PSN: a.SACK},
		AETH: wire.AETH{Syndrome: ackSyndrome}, Ack: a,
	}})
}

func (q *mpTest) handlePacket(p Packet) Verdict {
	q.t.Helper()
	v := q.mp.HandlePacket(q.now, &p)
	q.drain()
	return v
}

// nak refuses a packet: it names packet n, and was provoked by packet refused.
func (q *mpTest) nak(y wire.Syndrome, n, refused int) Verdict {
	q.t.Helper()
	q.until(q.sentTime(refused) + mpRTT)
	a := q.ackOf(refused)
	return q.handlePacket(Packet{Headers: wire.Headers{
		BTH:  wire.BTH{Opcode: wire.MPBit | wire.Acknowledge, PSN: q.psn(n)},
		AETH: wire.AETH{Syndrome: y}, Ack: a,
	}})
}

// batchOf is one acknowledgement for the given packets, lowest first, which
// must have gone by one path.
func (q *mpTest) batchOf(ns []int, isMarked func(int) bool) wire.MPAckBatch {
	q.t.Helper()
	first, last := q.ackOf(ns[0]), q.ackOf(ns[len(ns)-1])
	b := wire.MPAckBatch{Path: first.Path, Base: first.SACK, AACK: last.AACK, SentAt: last.SentAt}
	for _, n := range ns {
		bit := uint64(1) << (n - ns[0])
		b.Received |= bit
		if isMarked(n) {
			b.Marked |= bit
		}
		if q.ackOf(n).ReTx {
			b.ReTx |= bit
		}
	}
	return b
}

func (q *mpTest) ackBatch(b wire.MPAckBatch) Verdict {
	q.t.Helper()
	return q.handlePacket(Packet{Headers: wire.Headers{
		BTH:  wire.BTH{Opcode: wire.MPAcknowledgeBatch, PSN: b.Base},
		AETH: wire.AETH{Syndrome: ackSyndrome}, Batch: b,
	}})
}

// numbers makes the numbers from..to-1.
func numbers(from, to int) []int {
	var ns []int
	for n := from; n < to; n++ {
		ns = append(ns, n)
	}
	return ns
}
