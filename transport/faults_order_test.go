package transport

import (
	"testing"

	"github.com/braid-rdma/braid/wire"
)

var orderRows = []faultRow{
	{"row07_reorder_depth", testReorderDepth},
	{"row08_slow_path", testSlowPath},
	{"row09_duplication", testDuplication},
	{"row10_response_lost", testResponseLost},
	{"row15_psn_wrap", testPSNWrap},
}

// testReorderDepth lets one packet come late, so that the receiver needs depth
// slots to track the others. As many as L it has: nothing is sent again. One
// more is refused by a NACK, and the data is still right.
func testReorderDepth(t *testing.T) {
	for _, c := range []struct {
		depth   int
		refused bool
	}{{2, false}, {32, false}, {63, false}, {64, false}, {65, true}, {4096, true}} {
		sc := bulk(100, 100*1024).asPaper()
		sc.paths = 1
		sc.mp.InitialWindow, sc.mp.MaxWindow, sc.mp.Delta, sc.mp.Control = 256, 256, 64, NewFixedWindow
		sc.connect(0x1234, 0x4321)
		w := mustRun(t, sc, func(w *world) { w.filter = holdBack(w, 20, c.depth-1) })
		a, b := w.hosts[0].qp.Counters(), w.hosts[1].qp.Counters()
		if refused := b.NaksSent > 0; refused != c.refused {
			t.Errorf("depth %d: %d NACKs", c.depth, b.NaksSent)
		}
		if !c.refused && a.Retransmitted > 0 {
			t.Errorf("depth %d: %d packets sent again", c.depth, a.Retransmitted)
		}
	}
}

// holdBack keeps the n-th data packet of A until `overtakers` later ones left.
func holdBack(w *world, n, overtakers int) func(*host, *Packet) int {
	var held *Packet
	var sent int
	return func(from *host, p *Packet) int {
		if from.index != 0 || !isStreamData(p.Opcode) {
			return 1
		}
		sent++
		if sent == n {
			kept := *p
			kept.Spans = append([]Span(nil), p.Spans...)
			held = &kept
			return 0
		}
		if held != nil && sent == n+overtakers {
			late := held
			held = nil
			// The packet at hand goes first.
			w.carry(from, w.links[0][0], p)
			w.carry(from, w.links[0][0], late)
			return 0
		}
		return 1
	}
}

// testSlowPath: MP-RDMA §3.3.2 prunes a path that is far slower than the
// others; it keeps only what probing and bursts send there.
func testSlowPath(t *testing.T) {
	for _, paper := range []bool{true, false} {
		sc := bulk(60, 100*1024)
		if paper {
			sc.asPaper()
		}
		for side := range sc.links {
			sc.links[side][2].delay = 50 * Millisecond
		}
		degrees := make([]int, MaxTrackingSlots+1)
		total := 0
		w := mustRun(t, sc, func(w *world) {
			highest, arrived := seq(0), uint64(0)
			w.onStep = func(w *world) {
				in, c := &w.hosts[1].mp.recv.in[requests], w.hosts[1].qp.Counters()
				if c.PacketsReceived == arrived {
					return
				}
				arrived = c.PacketsReceived
				highest = max(highest, in.nxt+seq(in.ahead))
				degrees[min(int(highest-in.nxt), MaxTrackingSlots)]++
				total++
			}
		})
		left := total / 1000
		for d := MaxTrackingSlots; d > 0; d-- {
			if left -= degrees[d]; left < 0 {
				t.Logf("paper %v: p99.9 of the out-of-order degree is %d, slow path %+v", paper, d, w.hosts[0].qp.Paths()[2])
				if limit := sc.mp.Delta * 2; d > limit {
					t.Errorf("paper %v: p99.9 of the out-of-order degree is %d, want at most %d", paper, d, limit)
				}
				break
			}
		}
		if p, n := w.hosts[0].qp.Paths()[2], w.hosts[0].qp.Counters().PacketsSent; p.Sent*10 > n {
			t.Errorf("paper %v: the slow path carried %d of %d packets", paper, p.Sent, n)
		}
	}
}

func testDuplication(t *testing.T) {
	for _, rc := range []bool{false, true} {
		for seed := range uint64(20) {
			sc := bulk(60, 0)
			sc.seed, sc.kinds, sc.maxSize = seed, allKinds, 8000
			sc.setLinks(linkSpec{delay: faultRTT / 2, jitter: faultRTT, nsPerByte: 0.8, duplicate: 0.5, copies: 3, loss: 0.01})
			if rc {
				sc.asRC()
			}
			mustRun(t, sc, nil)
		}
	}
	for seed := range uint64(20) {
		testDuplicationInRecovery(t, seed)
	}
}

// testDuplicationInRecovery: each acknowledgement clocks out a retransmission while the paper's sender recovers (§3.5). Copies
// of acknowledgements do not, or they would multiply: here each packet brings four.
func testDuplicationInRecovery(t *testing.T, seed uint64) {
	sc := bulk(60, 0).asPaper()
	sc.seed, sc.kinds, sc.maxSize = seed, allKinds, 8000
	sc.mp.Slots, sc.mp.Delta = 8, 4
	sc.connect(0x1234, 0x4321)
	sc.setLinks(linkSpec{delay: faultRTT / 2, jitter: faultRTT, nsPerByte: 8, duplicate: 0.5, copies: 3})
	w := mustRun(t, sc, nil)
	for _, h := range w.hosts {
		if c := h.qp.Counters(); c.Retransmitted > 4*(c.PacketsSent-c.Retransmitted) {
			t.Errorf("seed %d: %s sent %d packets again, and %d once", seed, h.name, c.Retransmitted, c.PacketsSent-c.Retransmitted)
		}
	}
}

// testResponseLost loses the first response to every READ and atomic, so that
// all of them are asked for, or answered, twice. The model knows the values.
func testResponseLost(t *testing.T) {
	for _, rc := range []bool{false, true} {
		sc := bulk(30, 0)
		sc.kinds, sc.maxSize = []Op{OpRead, OpFetchAdd, OpCompareSwap}, 5000
		if rc {
			sc.asRC()
		}
		lost := map[wire.PSN]bool{}
		mustRun(t, sc, func(w *world) {
			w.filter = func(_ *host, p *Packet) int {
				op := p.Opcode.Base()
				if response := op.IsReadResponse() || op == wire.AtomicAcknowledge; response && !lost[p.PSN] {
					lost[p.PSN] = true
					return 0
				}
				return 1
			}
		})
		if len(lost) < 30 {
			t.Errorf("rc %v: only %d responses were lost", rc, len(lost))
		}
	}
}

// testPSNWrap runs the same scenario with numbers that wrap and numbers that do
// not: nothing may differ. (The low bits agree, since RC asks for
// acknowledgements at round numbers.)
func testPSNWrap(t *testing.T) {
	for _, rc := range []bool{false, true} {
		for seed := range uint64(10) {
			var ends [2]Time
			var counts [2]Counters
			for i, first := range []wire.PSN{0x0fffd7, 0xffffd7} {
				sc := bulk(60, 0)
				sc.seed, sc.kinds, sc.maxSize = seed, allKinds, 8000
				sc.connect(first, first.Add(3))
				sc.setLinks(linkSpec{delay: faultRTT / 2, nsPerByte: 0.8, loss: 0.02, reorder: 0.02, lateBy: faultRTT})
				if rc {
					sc.asRC()
				}
				w := mustRun(t, sc, nil)
				ends[i], counts[i] = w.now, *w.hosts[0].qp.Counters()
			}
			if ends[0] != ends[1] || counts[0] != counts[1] {
				t.Errorf("rc %v, seed %d: the wrap makes a difference: %v %+v", rc, seed, ends, counts)
			}
		}
	}
}
