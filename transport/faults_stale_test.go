package transport

import (
	"testing"

	"github.com/braid-rdma/braid/wire"
)

var staleRows = []faultRow{
	{"row16_stale_packet", testStalePacket},
	{"row17_reused_number", testReusedNumber},
	{"row18_stale_ack", testStaleAck},
}

// recordPackets runs a scenario and returns everything that B received.
func recordPackets(t *testing.T, sc *scenario) []Packet {
	t.Helper()
	var all []Packet
	mustRun(t, sc, func(w *world) {
		w.filter = func(from *host, p *Packet) int {
			if from.index == 0 {
				all = append(all, Packet{Headers: p.Headers, Path: p.Path, Length: p.Length})
			}
			return 1
		}
	})
	return all
}

// untouched checks that packets of another connection change nothing.
func untouched(t *testing.T, w *world, packets []Packet) {
	t.Helper()
	h := w.hosts[1]
	for i := range packets {
		p := packets[i]
		if v := h.qp.HandlePacket(w.now, &p); v == Place {
			t.Fatalf("%v of another connection was placed", p.Opcode)
		}
	}
	var c Completion
	for h.qp.PollCompletion(&c) {
		t.Errorf("completion %+v", c)
	}
	if h.qp.State() != RTS || h.mem.atomics != 0 {
		t.Errorf("state %v, %d atomics", h.qp.State(), h.mem.atomics)
	}
	h.checkZero(h.model.window.Bytes, "memory")
}

// testStalePacket delivers packets of long ago: far behind the window. What is
// exactly one cycle of 2^24 packets old can not be told apart; the datagram
// lifetime of networks (seconds) is what excludes it.
func testStalePacket(t *testing.T) {
	for _, rc := range []bool{false, true} {
		old := bulk(4, 3000)
		fresh := bulk(4, 3000)
		fresh.connect(old.attr[0].SendPSN.Add(3_000_000), 0x4321)
		if rc {
			old.asRC()
			fresh.asRC()
		}
		untouched(t, newWorld(fresh), recordPackets(t, old))
	}
}

// testReusedNumber: packets of a dead connection reach a new queue pair that
// got the same number, but another first PSN, ahead of it or behind.
func testReusedNumber(t *testing.T) {
	for _, rc := range []bool{false, true} {
		for _, distance := range []int{-5_000_000, -100_000, 100_000, 5_000_000} {
			old := bulk(20, 0)
			old.kinds, old.maxSize = allKinds, 4000
			fresh := bulk(20, 0)
			fresh.kinds, fresh.maxSize = allKinds, 4000
			fresh.connect(old.attr[0].SendPSN.Add(distance), old.attr[1].SendPSN.Add(distance))
			if rc {
				old.asRC()
				fresh.asRC()
			}
			w := newWorld(fresh)
			untouched(t, w, recordPackets(t, old))
			if err := w.run(); err != nil {
				t.Errorf("rc %v, distance %d: the new connection suffers: %v", rc, distance, err)
			}
		}
	}
}

// testStaleAck: acknowledgements of what is not outstanding are ignored.
func testStaleAck(t *testing.T) {
	sc := bulk(1, 2000)
	w := newWorld(sc)
	a := w.hosts[0]
	a.post()
	var sent Packet
	for a.qp.PollTransmit(w.now, &sent) {
	}
	for _, psn := range []wire.PSN{sc.attr[0].SendPSN.Add(2), sc.attr[0].SendPSN.Add(1000), sc.attr[0].SendPSN.Add(1 << 22)} {
		p := Packet{}
		p.Opcode, p.PSN = wire.MPBit|wire.Acknowledge, psn
		p.AETH.Syndrome = wire.AckSyndrome(wire.NoCredit)
		p.Ack = wire.MPAck{SACK: psn, AACK: psn.Add(1)}
		if v := a.qp.HandlePacket(w.now, &p); v != Drop {
			t.Errorf("an ACK of unsent %d returns %v", psn, v)
		}
	}
	var c Completion
	if a.qp.PollCompletion(&c) || a.qp.Counters().Stale != 3 {
		t.Errorf("completion %+v, %d stale", c, a.qp.Counters().Stale)
	}
}
