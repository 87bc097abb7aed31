package cm

import (
	"net"
	"strconv"
	"testing"

	"github.com/braid-rdma/braid/udp"
	"github.com/braid-rdma/braid/verbs"
)

// Connections to a device of several loops are made at every address that it has, whichever loop they are of: all
// of it is told of peers by the first.
func TestLoopsAtAllAddresses(t *testing.T) {
	open := func(loops int) *side {
		dev, err := udp.Open(udp.Config{Paths: 4, Loops: loops})
		must(t, err)
		return newSide(t, dev)
	}
	a, b := open(2), open(3)
	l, err := b.m.Listen(0)
	must(t, err)
	defer l.Close()
	port := strconv.Itoa(int(l.Addr().Port()))
	addrs := b.dev.Query().Addrs
	if len(addrs) < 2 {
		t.Fatalf("it has %v: the host has no other address", addrs)
	}
	parts := make(map[verbs.QPN]bool) // of loops, by the upper bits
	for _, addr := range addrs {
		for _, kind := range []verbs.QPType{verbs.MP, verbs.RC, verbs.MP} {
			accepted := b.accepting(l, b.options(kind, "from b"))
			ca, err := a.m.Dial(testContext(t), net.JoinHostPort(addr.String(), port), a.options(kind, "from a"))
			if err != nil {
				t.Fatalf("%v: %v", addr, err)
			}
			got := <-accepted
			must(t, got.err)
			parts[got.conn.QP().Number()>>18] = true
			a.write(ca, b)
			b.write(got.conn, a)
			must(t, ca.Close())
			wantEnd(t, got.conn, ErrPeerClosed)
			must(t, got.conn.Close())
		}
	}
	if s, _ := udp.StatsOf(b.dev); len(parts) != 3 || s.Loops != 3 || s.LoopsRefused != 0 {
		t.Errorf("queue pairs of %d loops; %d loops, %d refused", len(parts), s.Loops, s.LoopsRefused)
	}
	a.leaves()
	b.leaves()
}
