package udp

import (
	"net"
	"net/netip"
	"testing"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/wire"
)

// What comes together is taken at once, a flood at its rate, and after it all is as before.
func TestIntake(t *testing.T) {
	in := intake{credit: intakeBurst}
	now := transport.Second
	taken := func(offered int) (n int) {
		if open, _ := in.look(now); open {
			for ; n < offered && in.open(); n++ {
				in.took()
			}
		}
		return n
	}
	const clients = intakeBurst - 1
	begin, got := now, 0
	for got < clients && now-begin < transport.Second {
		now += transport.Millisecond / 10
		n := taken(min(clients-got, 2*intakeCrowd))
		if in.crowded && n > intakeCrowd {
			t.Fatalf("%d are taken in a tick", n)
		}
		got += n
	}
	if got != clients || in.flooded || now-begin > 100*transport.Millisecond {
		t.Errorf("of clients that start together %d are taken in %d ns, flooded: %v", got, now-begin, in.flooded)
	}
	now += transport.Microsecond
	if in.look(now); !in.crowded || in.flooded || in.due() > now+intakeTick {
		t.Errorf("after that crowded: %v, flooded: %v, due in %d ns", in.crowded, in.flooded, in.due()-now)
	}
	sum := 0
	for range 10_000 { // one second, in which 200,000 come
		now += transport.Second / 10_000
		if n := taken(20); n > 0 {
			in.missed(uint32(20*10 - n)) // those of the tick
			sum += n
		}
	}
	if sum < intakeRate*9/10 || sum > intakeRate+intakeCrowd { // the tick in which it begins is a crowd's
		t.Errorf("%d are taken in a second, want %d", sum, intakeRate)
	}
	if !in.flooded || in.due() <= now-intakeTick || in.due() > now+intakeTick {
		t.Errorf("flooded: %v; due in %d ns", in.flooded, in.due()-now)
	}
	ended := 0 * transport.Millisecond
	for begin := now; in.flooded && ended < transport.Second; ended = now - begin {
		now += intakeTick
		in.look(now)
	}
	if calm := intakeCalm * transport.Second / intakeRate; ended < calm || ended > 3*calm || !in.crowded {
		t.Errorf("the flood ends after %d ns; crowded: %v", ended, in.crowded)
	}
	now += 100 * transport.Second
	if in.look(now); in.credit != intakeBurst || in.crowded || in.due() != transport.Never {
		t.Errorf("credit %d, want %d; crowded: %v", in.credit, intakeBurst, in.crowded)
	}
	for range 1000 { // a second in which few come
		now += transport.Millisecond
		if taken(intakeRate/2000) == 0 || in.crowded {
			t.Fatal("few are a crowd")
		}
	}
}

// bareBTH sends datagrams that are a header, and an ICRC that is not right.
func bareBTH(t *testing.T, to netip.AddrPort) func(qpn wire.QPN, n int) {
	conn, err := net.Dial("udp", to.String())
	noError(t, err)
	t.Cleanup(func() { conn.Close() })
	return func(qpn wire.QPN, n int) {
		h := wire.Headers{
			BTH:  wire.BTH{Opcode: wire.UDSendOnly, PKey: wire.DefaultPKey, DestQP: qpn},
			DETH: wire.DETH{QKey: 1, SrcQP: 1},
		}
		b := append(h.Append(nil), make([]byte, wire.ICRCLen)...)
		for range n {
			_, err := conn.Write(b)
			noError(t, err)
		}
	}
}

// In a flood datagrams for queue pair 1 are dropped and no others, which statistics tell.
func TestFloodDropsManagementOnly(t *testing.T) {
	dev, err := Open(Config{Loopback: true, Paths: 1, Loops: 1})
	noError(t, err)
	defer dev.Close()
	e := engineOf(dev)
	if e.own.management == nil {
		t.Skip("SKIPPED: this kernel does not tell the sockets of a port apart")
	}
	send := bareBTH(t, netip.AddrPortFrom(dev.Query().Local, e.cfg.Port))
	flood := func(begins bool) {
		e.Lock()
		defer e.Unlock() // which wakes who sleeps longer
		e.intake = intake{credit: intakeBurst, counted: e.Now()}
		if begins {
			e.intake = intake{counted: e.Now() + 3600*transport.Second} // it lasts for this test
			e.turns.began = e.intake.counted
		}
		e.intake.crowded, e.intake.flooded = begins, begins
		e.noteCrowd()
	}
	flood(true)
	const n = 2000
	send(wire.ManagementQPN, n)
	send(77, n)
	eventually(t, "the others have arrived", func() bool { return statsOf(t, dev).PacketsReceived == n })
	if s := statsOf(t, dev); s.UnknownQP != n || s.SocketOverflow != 0 {
		t.Errorf("%+v", s)
	}
	flood(false)
	eventually(t, "those have arrived that had room", func() bool { return statsOf(t, dev).PacketsReceived > n })
	send(wire.ManagementQPN, 1) // which tells what was dropped before it
	var s Stats
	eventually(t, "the others are known to be dropped", func() bool {
		s = statsOf(t, dev)
		return s.PacketsReceived+s.FloodDropped == 2*n+1
	})
	if s.FloodDropped < n/2 || s.SocketOverflow != 0 {
		t.Errorf("of %d datagrams %d were dropped: %+v", n, s.FloodDropped, s)
	}
	before := s.PacketsReceived
	send(wire.ManagementQPN, n/4)
	eventually(t, "all arrive", func() bool { return statsOf(t, dev).PacketsReceived == before+n/4 })
}

// Where queue pair 1 has no socket of its own, statistics tell.
func TestSharedManagementIsCounted(t *testing.T) {
	dev, err := Open(Config{Loopback: true, Paths: 1, Loops: 1})
	noError(t, err)
	defer dev.Close()
	e := engineOf(dev)
	e.Lock()
	before := e.statistics().SharedManagement
	management := e.own.management
	e.own.management = nil
	without := e.statistics().SharedManagement
	e.own.management = management
	e.Unlock()
	if without != 1 || management != nil && before != 0 {
		t.Errorf("%d, without a socket of its own %d", before, without)
	}
}

// Two devices cannot have one address, though the sockets of a device share theirs.
func TestAddressIsHeldAlone(t *testing.T) {
	dev, err := Open(Config{Loopback: true, Paths: 1, Loops: 1})
	noError(t, err)
	defer dev.Close()
	if second, err := Open(Config{Addr: dev.Query().Local, Paths: 1}); err == nil {
		second.Close()
		t.Error("two devices have one address")
	}
}
