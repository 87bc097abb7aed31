package transport

import (
	"fmt"
	"math/big"
	"strings"
	"testing"
)

// tableRow is a line of MP-RDMA's table 1.
type tableRow struct {
	variable, encoding string
	size               int
	value              *big.Int // in a live connection
}

// tableOf lists the rows with what a live connection in recovery has in them; docs/decisions/mp-state.md explains them.
func tableOf(m *MP) []tableRow {
	r := &m.loss.(*paperRecovery).streams[requests]
	number := func(v uint64) *big.Int { return new(big.Int).SetUint64(v) }
	psn := func(s seq) *big.Int { return number(uint64(s.psn())) }
	micros := func(t Time) *big.Int { return number(uint64(t/Microsecond) & 0xffffff) } // wraps after 16.8 s, far beyond either timer
	bitmap := new(big.Int)
	words := m.recv.in[requests].slots.words
	for _, word := range words {
		bitmap.Or(bitmap.Lsh(bitmap, 64), number(word))
	}
	measured := uint64(0)
	if m.rtt.measured {
		measured = 1
	}
	return []tableRow{
		{"cwnd", "1/65536 packet", 4, number(uint64(m.gate.control.Window()*65536 + 0.5))},
		{"inflate", "signed", 4, number(uint64(r.inflate))},
		{"snd_una", "PSN", 3, psn(m.out[requests].una)},
		{"snd_nxt", "PSN", 3, psn(m.out[requests].nxt)},
		{"rcv_nxt", "PSN", 3, psn(m.recv.in[requests].nxt)},
		{"snd_ooh", "PSN", 3, psn(m.out[requests].ooh)},
		{"L", "packets", 1, number(uint64(m.opt.Slots))},
		{"snd_retx", "PSN", 3, psn(r.retx)},
		{"recovery", "PSN", 3, psn(r.recovery)},
		{"MaxPathID", "paths - 1", 2, number(uint64(m.attr.Paths - 1))},
		{"p", "1/200", 1, number(uint64(m.opt.ProbeProbability * 200))},
		{"bitmap data", "2 bits a packet", 8 * len(words), bitmap},
		{"bitmap head", "slot", 1, number(uint64(m.recv.in[requests].nxt) % uint64(m.opt.Slots))},
		{"burst_timer", "deadline, µs mod 2^24", 3, micros(m.timers.deadlineOf(timerBurst))},
		{"restart_timer", "idle from, µs mod 2^24", 3, micros(max(m.out[requests].lastSent, m.lastAck) + 3*m.rtt.srtt)},
		{"alpha", "halves", 1, number(uint64(m.opt.Alpha * 2))},
		{"srtt", "ns", 4, number(uint64(m.rtt.srtt))},
		{"rttvar", "ns", 4, number(uint64(m.rtt.rttvar))},
		{"rtt_seq", "1: measured", 4, number(measured)},
	}
}

// busyPaperConnection has something in every field: packets out of order in
// both directions, a burst timer, recovery mode.
func busyPaperConnection(t *testing.T) *MP {
	t.Helper()
	o := PaperOptions()
	o.InitialWindow = 12
	q := newMPTestWith(t, o, mpAttr())
	q.write(100)
	for n := 1; n < 8; n++ {
		q.ack(n, withWindow(5))
	}
	q.nak(0x60, 0, 9)
	q.ack(8, withWindow(100))
	in := q.peerWrite(0, 0, pattern(1, 20*mpMTU))
	q.arrive(in[0], in[2], in[19])
	if !q.mp.loss.(*paperRecovery).streams[requests].active || !q.mp.timers.armed(timerBurst) {
		t.Fatal("the connection is not as busy as it should be")
	}
	return q.mp
}

// MP-RDMA §4.1: collectively, 66 bytes. What a live connection keeps for the paper's
// mechanisms has room in the sizes of the paper's table 1.
func TestMPStateTable(t *testing.T) {
	m := busyPaperConnection(t)
	var out strings.Builder
	fmt.Fprintf(&out, "\n%-14s %4s  %-24s %s\n", "variable", "B", "encoding", "value")
	total := 0
	for _, row := range tableOf(m) {
		fmt.Fprintf(&out, "%-14s %4d  %-24s %0*x\n", row.variable, row.size, row.encoding, 2*row.size, row.value)
		if total += row.size; row.value.Sign() == 0 || row.value.BitLen() > 8*row.size {
			t.Errorf("%s is %#x, want what is not zero and has room in %d bytes", row.variable, row.value, row.size)
		}
	}
	fmt.Fprintf(&out, "%-14s %4d", "total", total)
	t.Log(out.String())
	if total != 66 {
		t.Errorf("the table takes %d bytes, want the paper's 66", total)
	}
}
