package bundle

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/braid-rdma/braid/bundle/machine"
	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/internal/loopnet"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// TestHello: what is not a bundle's request is refused, and tells why.
func TestHello(t *testing.T) {
	h := hello{index: 2, count: 3, id: 77, generation: 5}
	if got, err := parseHello(h.encode(), 64); err != nil || got != h {
		t.Errorf("got %+v, %v", got, err)
	}
	for name, b := range map[string][]byte{
		"short": h.encode()[:10],
		"magic": append([]byte("x"), h.encode()[1:]...),
		"index": (&hello{index: 3, count: 3}).encode(),
		"count": (&hello{index: 0, count: 65}).encode(),
	} {
		if _, err := parseHello(b, 64); !errors.Is(err, ErrProtocol) {
			t.Errorf("%s: got %v, want ErrProtocol", name, err)
		}
	}
}

// half asks for the first of two queue pairs of a connection, whose second never comes.
func (s *side) half(ctx context.Context, to netip.AddrPort, cq *verbs.CQ, id uint64) error {
	h := hello{index: 0, count: 2, id: id}
	_, err := s.manager.Dial(ctx, to.String(), cm.Options{
		PD: s.pd, QP: verbs.QPOptions{SendCQ: cq, SendDepth: 4, RecvDepth: 4}, PrivateData: h.encode(),
	})
	return err
}

// TestShareOfAddress: a peer that asks for queue pairs and never for all of them gets
// its share of the places, and others theirs.
func TestShareOfAddress(t *testing.T) {
	a, b, n := loopPair(t)
	l, err := Listen(b.manager, 0, b.config(1))
	must(t, err)
	cq, err := a.dev.CreateCQ(4096)
	must(t, err)
	got := 0
	for ; got < maxPlaces && err == nil; got++ {
		err = a.half(testContext(t), l.Addr(), cq, uint64(got))
	}
	if !refusedWith(err, busyWord) || got <= 1 || got > maxPlaces/2 {
		t.Errorf("%d places, then %v, want a refusal", got, err)
	}
	honest := newSide(t, n.Open())
	connect(t, honest, b, l)
	// Those of which a part has come are accepted too, after a while.
	for b.conn.RemoteAddr().Addr() != honest.dev.Query().Local {
		must(t, b.conn.Close())
		b.conn, err = l.Accept(testContext(t))
		must(t, err)
	}
	must(t, honest.conn.Close())
	must(t, l.Close())
	b.leavesNothing()
}

// TestForgedRequests: requests from addresses where nobody receives the replies take no
// place, though more addresses ask than there are places.
func TestForgedRequests(t *testing.T) {
	n := loopnet.New(loopnet.Options{})
	b, honest := newSide(t, n.Open()), newSide(t, n.Open())
	l, err := Listen(b.manager, 0, b.config(1))
	must(t, err)
	known := map[netip.Addr]bool{b.dev.Query().Local: true, honest.dev.Query().Local: true}
	n.SetFilter(func(_, to netip.Addr, _ *transport.Packet) bool { return known[to] })
	ctx, stop := context.WithCancel(testContext(t))
	var all sync.WaitGroup
	for i := range uint64(maxPlaces + 10) {
		forger := newSide(t, n.Open())
		cq, err := forger.dev.CreateCQ(16)
		must(t, err)
		all.Go(func() { _ = forger.half(ctx, l.Addr(), cq, i) })
	}
	for b.manager.Counters().Received < 2*maxPlaces {
		time.Sleep(time.Millisecond) // until all have asked, most of them twice
	}
	l.mu.Lock()
	if len(l.conns) > 0 {
		t.Errorf("%d forged connections", len(l.conns))
	}
	l.mu.Unlock()
	connect(t, honest, b, l)
	must(t, honest.conn.Close())
	stop()
	all.Wait()
	must(t, l.Close())
	b.leavesNothing()
}

// TestNotAccepted: connections that the program does not accept keep their places, and
// who is refused for that comes in when there is one.
func TestNotAccepted(t *testing.T) {
	a, b, _ := loopPair(t)
	l, err := Listen(b.manager, 0, b.config(1))
	must(t, err)
	const peers = maxPlaces / 2
	dialed := make(chan *Conn, peers)
	for range peers {
		go func() {
			c, err := Dial(testContext(t), a.manager, l.Addr().String(), a.config(1))
			if err != nil {
				t.Error(err)
			}
			dialed <- c
		}()
	}
	var conns []*Conn
	for range peers {
		c, err := l.Accept(testContext(t))
		must(t, err)
		conns = append(conns, c, <-dialed)
	}
	for _, c := range conns {
		c.Close()
	}
	must(t, l.Close())
	b.leavesNothing()
}

// TestRepeatedRequest: a request that arrives once more after its refusal is granted, though
// nobody waits for that; who asks again comes in all the same.
func TestRepeatedRequest(t *testing.T) {
	a, b, n := loopPair(t)
	l, err := Listen(b.manager, 0, b.config(1))
	must(t, err)
	repeated := newSide(t, n.Open())
	dialer, listener := a.dev.Query().Local, b.dev.Query().Local
	asked, granted := make(chan uint64, 1), make(chan struct{})
	n.SetFilter(func(from, to netip.Addr, p *transport.Packet) bool {
		h, ok := helloIn(p)
		if from != dialer || to != listener || !ok {
			return true
		}
		select {
		case asked <- h.id:
		default:
		}
		select {
		case <-granted:
			return true
		default:
			return false
		}
	})
	go func() {
		defer close(granted)
		cq, err := repeated.dev.CreateCQ(16)
		if err != nil {
			t.Error(err)
			return
		}
		h := hello{count: 1, id: <-asked}
		conn, err := repeated.manager.Dial(testContext(t), l.Addr().String(), cm.Options{
			PD: repeated.pd, QP: verbs.QPOptions{SendCQ: cq, SendDepth: 4, RecvDepth: 4}, PrivateData: h.encode(),
		})
		if err != nil {
			t.Error(err)
			return
		}
		conn.Close()
	}()
	dialTo(t, a, b, l, a.config(1))
	must(t, a.conn.Close())
	b.conn.Close()
	must(t, l.Close())
	b.leavesNothing()
}

// helloIn finds the private data of a request in a packet.
func helloIn(p *transport.Packet) (hello, bool) {
	for _, s := range p.Spans {
		if i := bytes.Index(s.Bytes(), []byte(helloMagic)); i >= 0 {
			h, err := parseHello(s.Bytes()[i:], machine.MaxLanes)
			return h, err == nil
		}
	}
	return hello{}, false
}

// TestHostileMessage: a message that no machine sends ends the connection, and no other.
func TestHostileMessage(t *testing.T) {
	a, b, _ := loopPair(t)
	pair(t, a, b, 2, nil)
	a.conn.mu.Lock()
	h := machine.Header{Kind: machine.HeaderDelivered, Number: 99}
	l := a.conn.lanes[0]
	must(t, l.qp.PostSend(&verbs.SendWR{ID: byeTag, Op: verbs.OpSend, Flags: verbs.Signaled, Inline: h.Append(nil)}))
	l.outstanding++
	a.conn.mu.Unlock()
	select {
	case <-b.conn.Done():
	case <-testContext(t).Done():
	}
	if !errors.Is(b.conn.Err(), ErrProtocol) {
		t.Errorf("got %v, want ErrProtocol", b.conn.Err())
	}
}

// TestWriteWithImmediate: a WRITE that takes a receive of ours is no message, however long it
// is, and ends the connection.
func TestWriteWithImmediate(t *testing.T) {
	const length = 128 << 10 // all boxes of one queue pair have less
	a, b, _ := loopPair(t)
	pair(t, a, b, 1, func(c *Config) { c.QP.Conn = verbs.ConnOptions{} }) // patient: nobody repeats it
	to := b.at(0)
	a.conn.mu.Lock()
	l := a.conn.lanes[0]
	must(t, l.qp.PostSend(&verbs.SendWR{
		ID: byeTag, Op: verbs.OpWriteImm, Flags: verbs.Signaled,
		SGEs: []verbs.SGE{a.mr.SGE(0, length)}, RemoteAddr: to.Addr, RKey: to.RKey,
	}))
	l.outstanding++
	a.conn.mu.Unlock()
	select {
	case <-b.conn.Done():
	case <-testContext(t).Done():
	}
	if !errors.Is(b.conn.Err(), ErrProtocol) {
		t.Errorf("got %v, want ErrProtocol", b.conn.Err())
	}
}
