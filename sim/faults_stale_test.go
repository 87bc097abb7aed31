package sim

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// The ends of a connection.
const (
	sender   = 0
	receiver = 1
)

// crash starts a transfer over a slow network and ends one of its queue pairs while
// everything is on its way.
func crash(t *testing.T, qp verbs.QPOptions, seed uint64, end int) (n *Network, a, b *side) {
	t.Helper()
	n = newNetwork(t, paths(2, 10*gbps, 10*gbps), Config{Seed: seed, Verify: true})
	everyPath(2, func(link string) { impair(t, n, 0, link, Both, Impairment{Delay: Millisecond}) })
	n.Run(1)
	a, b = pair(t, n, qp)
	copy(a.mr.Bytes(), bytes.Repeat([]byte{0xdd}, a.mr.Len()))
	a.must(a.qp.PostSend(&verbs.SendWR{Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: []verbs.SGE{a.mr.All()}, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey()}))
	flight := 500 * Microsecond // the data is on its way
	if end == sender {
		flight += Millisecond // the acknowledgements are
	}
	n.Run(n.Now() + flight)
	a.must([]*side{a, b}[end].qp.Close())
	return n, a, b
}

// Row 17: packets of an old connection do nothing when its receiver is gone, not even
// when another queue pair has its number.
func oldPackets(t *testing.T) {
	for kind, qp := range everyKind {
		n, _, b := crash(t, qp, 1, receiver)
		n.Run(100 * Second)
		if n.hosts[1].unknown == 0 {
			t.Errorf("%s: no packet of the old connection came", kind)
		}
		if len(bytes.Trim(b.mr.Bytes(), "\x00")) != 0 {
			t.Errorf("%s: packets of the old connection were placed after it ended", kind)
		}
		for seed := range uint64(8) {
			numberReused(t, kind, qp, seed, receiver)
		}
	}
}

// Row 18: acknowledgements of an old connection do nothing when its sender is gone,
// not even when another queue pair has its number; and the peer is told nothing wrong.
func oldAcknowledgements(t *testing.T) {
	for kind, qp := range everyKind {
		n, _, b := crash(t, qp, 1, sender)
		n.Run(100 * Second)
		if n.hosts[0].unknown == 0 {
			t.Errorf("%s: no acknowledgement of the old connection came", kind)
		}
		var c [1]verbs.Completion
		if got, _ := b.cq.Poll(c[:]); got != 0 {
			t.Errorf("%s: the peer has a completion: %+v", kind, c[0])
		}
		for seed := range uint64(8) {
			numberReused(t, kind, qp, seed, sender)
		}
	}
}

// numberReused gives the number of a queue pair that ended in mid-flight to the next
// one on its host, connects that to another queue pair of the same peer, and checks
// that the new connection does its work as if the old one had never been. The memory
// and its key are those of the old connection, so nothing but the packets' numbers
// tells its packets from good ones.
func numberReused(t *testing.T, kind string, qp verbs.QPOptions, seed uint64, end int) {
	t.Helper()
	name := fmt.Sprintf("%s, seed %d, end %d", kind, seed, end)
	n, a, b := crash(t, qp, seed, end)
	ends := []*side{a, b}
	old := ends[end].qp.Number()
	forceNumber(n.hosts[end], old)
	for i, s := range ends {
		o := qp
		o.SendCQ = s.cq
		var err error
		s.qp, err = s.pd.CreateQP(o)
		s.must(err)
		if i == end && s.qp.Number() != old {
			t.Fatalf("%s: the new queue pair has number %v, not %v", name, s.qp.Number(), old)
		}
	}
	a.must(a.qp.Connect(b.qp.Params()))
	b.must(b.qp.Connect(a.qp.Params()))
	clear(b.mr.Bytes())
	c := n.hosts[end].conns.find(old)
	counter := &arrivalCounter{QP: c.qp}
	c.qp = counter
	// Nothing of the new connection can arrive within this time.
	n.Run(n.Now() + 900*Microsecond)
	if counter.packets == 0 {
		t.Errorf("%s: no packet of the old connection found the new one", name)
	}
	checkFresh(t, name, n, a, b)
}

// arrivalCounter counts the packets that reach a queue pair.
type arrivalCounter struct {
	transport.QP
	packets int
}

func (c *arrivalCounter) HandlePacket(now transport.Time, p *transport.Packet) transport.Verdict {
	c.packets++
	return c.QP.HandlePacket(now, p)
}

// checkFresh sends over a new connection and checks that this, and only this, arrives.
func checkFresh(t *testing.T, name string, n *Network, a, b *side) {
	t.Helper()
	const size = 20_000
	copy(a.mr.Bytes(), bytes.Repeat([]byte{0x11}, size))
	b.must(b.qp.PostRecv(&verbs.RecvWR{ID: 7, SGEs: []verbs.SGE{b.mr.SGE(0, size)}}))
	a.must(a.qp.PostSend(&verbs.SendWR{ID: 6, Op: verbs.OpSend, Flags: verbs.Signaled, SGEs: []verbs.SGE{a.mr.SGE(0, size)}}))
	n.Run(n.Now() + 20*Millisecond) // everything old and new has arrived
	for _, s := range []struct {
		*side
		wrid uint64
	}{{a, 6}, {b, 7}} {
		var c [4]verbs.Completion
		count, err := s.cq.Poll(c[:])
		s.must(err)
		fresh := 0
		for i := range count {
			if c[i].QPN != s.qp.Number() || c[i].Err() != nil && c[i].WRID == 0 {
				continue // of the old connection
			}
			if fresh++; c[i].WRID != s.wrid || c[i].Err() != nil {
				t.Errorf("%s: request %d: %v", name, c[i].WRID, c[i].Err())
			}
		}
		if fresh != 1 || s.qp.State() != verbs.RTS {
			t.Errorf("%s: %d completions of request %d, state %v", name, fresh, s.wrid, s.qp.State())
		}
	}
	if !bytes.Equal(b.mr.Bytes()[:size], a.mr.Bytes()[:size]) || len(bytes.Trim(b.mr.Bytes()[size:], "\x00")) != 0 {
		t.Errorf("%s: bytes of the old connection arrived", name)
	}
}

// forceNumber lets the next queue pair of a host have a number: it looks for a state
// of the host's dice from which that number is drawn.
func forceNumber(h *host, number verbs.QPN) {
	const first, last = 2, 0xfffffe // numbers that verbs gives out
	for d := h.dice; ; d.roll() {
		if peek := d; first+peek.roll()%(last-first+1) == uint64(number) {
			h.dice = d
			return
		}
	}
}
