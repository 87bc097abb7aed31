package udp

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/braid-rdma/braid/transport"
)

// Each source has one turn in a cycle, and in each turn are about as many.
func TestTurns(t *testing.T) {
	const sources = 512
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	noError(t, err)
	defer conn.Close()
	raw, err := conn.SyscallConn()
	noError(t, err)
	local := conn.LocalAddr().(*net.UDPAddr)
	send := func(i int, text string) {
		from, err := net.DialUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 200, byte(i>>8), byte(i))}, local)
		noError(t, err)
		_, err = from.Write([]byte(text))
		noError(t, err)
		noError(t, from.Close())
	}
	socket := func(f func(*rxSocket)) {
		noError(t, raw.Control(func(fd uintptr) { f(&rxSocket{fd: int(fd), local: local.AddrPort()}) }))
	}
	const request, end = "request", "end"
	now, ts, b := transport.Second, newTurns(), make([]byte, 16)
	seen := make(map[netip.Addr]int)
	noError(t, conn.SetReadDeadline(time.Now().Add(30*time.Second)))
	for part := range sourceParts {
		if now += turnTime; !ts.next(now) || ts.next(now+turnTime/2) {
			t.Fatal("a turn has another length")
		}
		socket(func(s *rxSocket) { s.takeTurn(&ts) })
		for i := range sources {
			send(i, request)
		}
		socket(func(s *rxSocket) { s.takeAll() })
		send(0, end)
		n := 0
		for ; ; n++ {
			size, from, err := conn.ReadFromUDPAddrPort(b)
			noError(t, err)
			if string(b[:size]) == end {
				break
			}
			seen[from.Addr()]++
		}
		if n == 0 || n > 3*sources/sourceParts {
			t.Errorf("turn %d has %d of %d sources", part, n, sources)
		}
	}
	for from, n := range seen {
		if n != 1 {
			t.Errorf("%v had %d turns", from, n)
		}
	}
	if len(seen) != sources {
		t.Errorf("%d of %d sources had a turn", len(seen), sources)
	}
}
