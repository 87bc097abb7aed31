package cm

import (
	"errors"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/braid-rdma/braid/udp"
	"github.com/braid-rdma/braid/verbs"
)

// shared are sides at one address, each with a device of its own as if it were a process of its own. The first has what
// comes for queue pair 1.
func shared(t testing.TB, n int) (sides []*side) {
	t.Helper()
	pid := os.Getpid()
	addr := netip.AddrFrom4([4]byte{127, 79, byte(pid >> 8), byte(pid)})
	for range n {
		dev, err := udp.Open(udp.Config{Addr: addr, Paths: 4})
		must(t, err)
		sides = append(sides, newSide(t, dev))
	}
	return sides
}

// Devices that share an address accept connections and make them, also among each other.
func TestSharedAddress(t *testing.T) {
	sides := shared(t, 3)
	alone, _ := sockets(t)
	all := slices.Concat(sides, []*side{alone})
	for _, a := range all {
		for _, b := range all {
			ca, cb := connected(t, a, b, verbs.MP, verbs.MP)
			a.write(ca, b)
			b.write(cb, a)
			must(t, ca.Close())
			wantEnd(t, cb, ErrPeerClosed)
			must(t, cb.Close())
		}
	}
	for _, s := range all {
		s.leaves()
	}
}

// A port is one listener's at an address, whatever device it has; nobody's port is refused at once.
func TestSharedPorts(t *testing.T) {
	sides := shared(t, 3)
	for i, s := range sides {
		l, err := s.m.Listen(7174)
		must(t, err)
		for _, other := range sides {
			if _, err := other.m.Listen(7174); !errors.Is(err, ErrInUse) {
				t.Errorf("a second listener while device %d listens: %v", i, err)
			}
		}
		must(t, l.Close())
	}
	alone, _ := sockets(t)
	target := netip.AddrPortFrom(sides[0].dev.Query().Local, 7174).String()
	if _, err := alone.m.Dial(testContext(t), target, alone.options(verbs.MP, "")); !errors.Is(err, ErrRefused) {
		t.Errorf("nobody listens: %v", err)
	}
	l, err := sides[2].m.Listen(7174)
	must(t, err)
	must(t, sides[2].m.Close()) // closes the listener too
	if _, err := sides[1].m.Listen(7174); err != nil {
		t.Errorf("after the manager has closed: %v", err)
	}
	_ = l
}

// When the device that has queue pair 1 closes, another has it: connections live, and new ones are made.
func TestSharedAddressOutlivesTheFirst(t *testing.T) {
	sides := shared(t, 3)
	alone, _ := sockets(t)
	listeners := make([]*Listener, len(sides))
	conns := make([]*Conn, len(sides))
	for i, s := range sides {
		var err error
		listeners[i], err = s.m.Listen(0)
		must(t, err)
		conns[i] = alone.reach(s, listeners[i])
	}
	for i, s := range sides[:2] {
		must(t, s.m.Close())
		must(t, s.dev.Close())
		for j := i + 1; j < len(sides); j++ {
			alone.write(conns[j], sides[j])
			begin := time.Now()
			c := alone.reach(sides[j], listeners[j])
			t.Logf("a new connection after %v", time.Since(begin))
			alone.write(c, sides[j])
		}
	}
}

// reach dials a listener of another side, which accepts.
func (s *side) reach(to *side, l *Listener) *Conn {
	s.t.Helper()
	accepted := to.accepting(l, to.options(verbs.MP, ""))
	c, err := s.m.Dial(testContext(s.t), l.Addr().String(), s.options(verbs.MP, ""))
	must(s.t, err)
	must(s.t, (<-accepted).err)
	return c
}
