package udp

import (
	"net"
	"net/netip"
	"testing"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/wire"
)

// The gate narrows where a flood lasts, widens step by step, and does not waver.
func TestGate(t *testing.T) {
	var g gate
	now := transport.Time(0)
	look := func(after transport.Time, offered int) int {
		g.passed = offered >> g.shift
		now += after
		g.look(now)
		return g.shift
	}
	for i, step := range []struct {
		after   transport.Time
		offered int
		want    int
	}{
		{gateTime, 0, 0},
		{gateTime, gateHigh - 1, 0},       // clients that start together
		{100 * gateTime, 2 * gateHigh, 0}, // in a long time
		{gateTime, 10_000, 2},             // 100,000 a second
		{gateTime, 10_000, 2},
		{gateTime, 100_000, 6},
		{gateTime, 10_000, 5},
		{gateTime, 10_000, 4},
		{gateTime, 10_000, 3},
		{gateTime, 10_000, 3}, // 1,250 pass
		{gateTime, 0, 2},
		{gateTime, 0, 1},
		{gateTime, 0, 0},
	} {
		if got := look(step.after, step.offered); got != step.want {
			t.Errorf("step %d: shift %d, want %d", i, got, step.want)
		}
	}
	if g.shift = 2; g.due() != now+gateTime {
		t.Error("a gate that is narrow is not looked at")
	}
	g.broken = true
	if g.look(now+gateTime) || g.shift != 2 {
		t.Error("a kernel without filters is asked again")
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

// A narrow gate drops datagrams for queue pair 1 and no others, which statistics tell, and opens by itself.
func TestGateDropsManagementOnly(t *testing.T) {
	dev, err := Open(Config{Loopback: true, Paths: 1})
	noError(t, err)
	defer dev.Close()
	e := engineOf(dev)
	send := bareBTH(t, netip.AddrPortFrom(dev.Query().Local, e.cfg.Port))
	e.Lock()
	e.gate.passed, e.gate.looked = 100_000, e.Now()-gateTime
	e.lookAtGate(e.Now())
	// It stays so for the datagrams of this test.
	shift, broken := e.gate.shift, e.gate.broken
	e.gate.looked = e.Now() + 3600*transport.Second
	e.Unlock()
	if broken {
		t.Skip("SKIPPED: this kernel allows no filter on a socket")
	}
	if shift < 5 {
		t.Fatalf("a million datagrams a second, and one of %d passes", 1<<shift)
	}
	const n = 1000
	send(wire.ManagementQPN, n)
	send(77, n)
	var s Stats
	eventually(t, "all datagrams have arrived, or were dropped", func() bool {
		s = statsOf(t, dev)
		return s.PacketsReceived+s.FloodDropped >= 2*n
	})
	if s.FloodDropped > n || s.FloodDropped < n*3/4 || s.SocketOverflow != 0 {
		t.Errorf("of %d datagrams %d were dropped: %+v", n, s.FloodDropped, s)
	}
	e.Lock()
	e.gate.looked = e.Now()
	e.Unlock() // which wakes who sleeps longer
	eventually(t, "the gate is open", func() bool {
		e.Lock()
		defer e.Unlock()
		return e.gate.shift == 0
	})
	before := statsOf(t, dev).PacketsReceived
	send(wire.ManagementQPN, n)
	eventually(t, "all datagrams arrive", func() bool { return statsOf(t, dev).PacketsReceived == before+n })
}
