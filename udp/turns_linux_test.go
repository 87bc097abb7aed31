package udp

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/braid-rdma/braid/transport"
)

func TestTurns(t *testing.T) {
	t.Run("IPv4", func(t *testing.T) {
		const sources = 512
		var all []netip.Addr
		for i := range sources {
			all = append(all, netip.AddrFrom4([4]byte{127, 200, byte(i >> 8), byte(i)}))
		}
		turns := turnsOf(t, netip.AddrFrom4([4]byte{127, 0, 0, 1}), all)
		for part, n := range turns {
			if n == 0 || n > 3*sources/sourceParts {
				t.Errorf("turn %d has %d of %d sources", part, n, sources)
			}
		}
	})
	t.Run("IPv6", func(t *testing.T) { turnsOf(t, netip.IPv6Loopback(), []netip.Addr{netip.IPv6Loopback()}) })
}

// turnsOf lets sources send to a socket in each turn of a cycle, and returns how many the kernel took
// in each. Each source must have had one.
func turnsOf(t *testing.T, at netip.Addr, sources []netip.Addr) (turns [sourceParts]int) {
	conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(at, 0)))
	if err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	defer conn.Close()
	raw, err := conn.SyscallConn()
	noError(t, err)
	local := conn.LocalAddr().(*net.UDPAddr)
	send := func(from netip.Addr, text string) {
		c, err := net.DialUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(from, 0)), local)
		noError(t, err)
		_, err = c.Write([]byte(text))
		noError(t, err)
		noError(t, c.Close())
	}
	socket := func(f func(*rxSocket)) {
		addr := netip.AddrPortFrom(at, uint16(local.Port))
		noError(t, raw.Control(func(fd uintptr) { f(&rxSocket{fd: int(fd), local: addr}) }))
	}
	const request, end = "request", "end"
	now, ts, b := transport.Second, newTurns(), make([]byte, 16)
	seen := make(map[netip.Addr]int)
	noError(t, conn.SetReadDeadline(time.Now().Add(30*time.Second)))
	for part := range turns {
		if now += turnTime; !ts.next(now) || ts.next(now+turnTime/2) {
			t.Fatal("a turn has another length")
		}
		socket(func(s *rxSocket) { s.takeTurn(&ts) })
		for _, from := range sources {
			send(from, request)
		}
		socket(func(s *rxSocket) { s.takeAll() })
		for send(sources[0], end); ; turns[part]++ {
			size, from, err := conn.ReadFromUDPAddrPort(b)
			noError(t, err)
			if string(b[:size]) == end {
				break
			}
			seen[from.Addr().Unmap()]++
		}
	}
	for _, from := range sources {
		if seen[from] != 1 {
			t.Errorf("%v had %d turns", from, seen[from])
		}
	}
	return turns
}
