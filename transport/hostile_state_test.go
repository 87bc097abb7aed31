package transport

import "fmt"

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
		return heldByBase(&q.base) + cap(q.resp.answers.items) + len(q.resp.served.ring)
	case *MP:
		n := heldByBase(&q.base) + len(q.ack.acks.items) + len(q.ack.echoes.items) + len(q.in.tails.items)
		return n + len(q.out.messages.items) + len(q.out.responses.items) + len(q.out.awaiting.items)
	}
	return 0
}

func heldByBase(b *base) int {
	return len(b.done.items) + len(b.events.items) + len(b.sq.wqes.items) + len(b.rq.own.wqes.items)
}

// heldReceives counts the receives of a shared queue that a queue pair has
// claimed and not completed.
func heldReceives(qp QP) int {
	switch q := unwrapped(qp).(type) {
	case *RC:
		return q.rq.own.wqes.len()
	case *MP:
		return q.rq.own.wqes.len()
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

// conserves says whether the books of a queue pair that keeps a record of every
// transmission are balanced (P6).
func conserves(m *MP) error {
	r, ok := m.recover.(*selective)
	if !ok {
		return nil
	}
	if c := m.Counters(); c.PacketsSent != c.Acknowledged+c.Lost+uint64(r.flying) || r.flying < 0 {
		return fmt.Errorf("sent %d packets, but %d acknowledged, %d lost and %d in flight", c.PacketsSent, c.Acknowledged, c.Lost, r.flying)
	}
	return nil
}

// senderState is what an acknowledgement may change.
type senderState struct {
	flow Flow
	una  uint64
}

func senderStateOf(qp QP) senderState {
	switch q := unwrapped(qp).(type) {
	case *RC:
		return senderState{una: uint64(q.req.una)}
	case *MP:
		return senderState{flow: q.Flow(), una: uint64(q.out.una)}
	}
	return senderState{}
}
