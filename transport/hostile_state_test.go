package transport

import (
	"fmt"

	"github.com/braid-rdma/braid/wire"
)

// What the tests of hostile peers and the harness know of the inside of queue
// pairs, in one place.

// unwrapped is the queue pair below a planted bug.
func unwrapped(qp QP) QP {
	if m, ok := qp.(*meddler); ok {
		return m.QP
	}
	return qp
}

// heldState counts what a queue pair keeps for its peer, at its highest so far:
// queues do not shrink.
func heldState(qp QP) int {
	switch q := unwrapped(qp).(type) {
	case *RC:
		return heldByBase(&q.base) + cap(q.resp.responses.items) + len(q.resp.served.ring)
	case *MP:
		n := heldByBase(&q.base) + len(q.ack.acks.items) + len(q.ack.probes.items) + len(q.recv.owed.waiting.items)
		for id := range numStreams {
			n += cap(q.recv.in[id].tails) + len(q.out[id].messages.items)
		}
		return n
	}
	return 0
}

func heldByBase(b *base) int {
	return len(b.done.items) + len(b.events.items) + len(b.sq.wqes.items) + len(b.rq.own.wqes.items)
}

// acceptedAhead counts the packets of the peer that wait for the head of their stream.
func acceptedAhead(qp QP) (n int) {
	if q, ok := unwrapped(qp).(*MP); ok {
		for id := range q.recv.in {
			n += int(q.recv.in[id].ahead)
		}
	}
	return n
}

// heldReceives counts the receives of a shared queue that a queue pair has
// claimed and not completed.
func heldReceives(qp QP) int {
	switch q := unwrapped(qp).(type) {
	case *RC:
		return q.rq.own.wqes.len() - q.rq.holes
	case *MP:
		return q.rq.own.wqes.len() - q.rq.holes
	}
	return 0
}

// claimReceives claims receives of a shared queue, as a bug would.
func claimReceives(qp QP, n int) {
	switch q := unwrapped(qp).(type) {
	case *RC:
		q.rq.at(n)
	case *MP:
		q.rq.at(n)
	}
}

// believeWindow takes the window of any acknowledgement, as a bug would.
func believeWindow(qp QP, p *Packet) {
	if q, ok := unwrapped(qp).(*MP); ok && p.Opcode == wire.MPBit|wire.Acknowledge {
		q.gate.peerWindow = p.Ack.Window
	}
}

// conserves says whether the books of a queue pair that keeps a record of every
// transmission are balanced (P6).
func conserves(m *MP) error {
	r, ok := m.loss.(*selective)
	if !ok {
		return nil
	}
	if c := m.Counters(); c.PacketsSent != c.Acknowledged+c.Lost+uint64(r.flying) || r.flying < 0 {
		return fmt.Errorf("sent %d packets, but %d acknowledged, %d lost and %d in flight", c.PacketsSent, c.Acknowledged, c.Lost, r.flying)
	}
	return nil
}

// ackState is what an acknowledgement may change.
type ackState struct {
	flow Flow
	una  [2]uint64
}

func ackStateOf(qp QP) ackState {
	switch q := unwrapped(qp).(type) {
	case *RC:
		return ackState{una: [2]uint64{uint64(q.req.una)}}
	case *MP:
		return ackState{flow: q.Flow(), una: [2]uint64{uint64(q.out[requests].una), uint64(q.out[responses].una)}}
	}
	return ackState{}
}
