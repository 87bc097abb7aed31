package transport

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// tableRow is a line of MP-RDMA's table 1.
type tableRow struct {
	variable, encoding string
	size               int
	value              uint64 // in a live connection; not used for the bitmap
}

// tableOf lists the rows with what a live connection must have written.
func tableOf(m *MP) []tableRow {
	r := &m.loss.(*paperRecovery).streams[requests]
	retx, recovery := m.out[requests].una, m.out[requests].una
	if r.active {
		retx, recovery = r.retx, r.recovery
	}
	psn := func(s seq) uint64 { return uint64(s.psn()) }
	return []tableRow{
		{"cwnd", "1/65536 packet", 4, uint64(m.gate.control.Window()*65536 + 0.5)},
		{"inflate", "signed", 4, uint64(uint32(int32(r.inflate)))},
		{"snd_una", "PSN", 3, psn(m.out[requests].una)},
		{"snd_nxt", "PSN", 3, psn(m.out[requests].nxt)},
		{"rcv_nxt", "PSN", 3, psn(m.recv.in[requests].nxt)},
		{"snd_ooh", "PSN", 3, psn(m.out[requests].ooh)},
		{"L", "packets", 1, 64},
		{"snd_retx", "PSN", 3, psn(retx)},
		{"recovery", "PSN", 3, psn(recovery)},
		{"MaxPathID", "paths - 1", 2, uint64(m.attr.Paths - 1)},
		{"p", "1/200", 1, 2},
		{"bitmap data", "2 bits a packet", 16, 0},
		{"bitmap head", "slot", 1, psn(m.recv.in[requests].nxt) % 64},
		{"burst_timer", "deadline, µs mod 2^24", 3, uint64(m.timers.deadlineOf(timerBurst)/Microsecond) & 0xffffff},
		{"restart_timer", "idle from, µs mod 2^24", 3, uint64((max(m.out[requests].lastSent, m.lastAck)+3*m.rtt.srtt)/Microsecond) & 0xffffff},
		{"alpha", "halves", 1, 2},
		{"srtt", "ns", 4, uint64(m.rtt.srtt)},
		{"rttvar", "ns", 4, uint64(m.rtt.rttvar)},
		{"rtt_seq", "1: measured", 4, 1},
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

// MP-RDMA §4.1: collectively, 66 bytes.
func TestMPStateTable(t *testing.T) {
	m := busyPaperConnection(t)
	encoded := m.AppendState([]byte("x"))[1:]
	if MPStateLen != 66 || len(encoded) != 66 {
		t.Fatalf("the table takes %d bytes, want the paper's 66", len(encoded))
	}
	var out strings.Builder
	fmt.Fprintf(&out, "\n%-14s %4s  %-24s %s\n", "variable", "B", "encoding", "value")
	at := 0
	for _, row := range tableOf(m) {
		raw := encoded[at : at+row.size]
		at += row.size
		fmt.Fprintf(&out, "%-14s %4d  %-24s %x\n", row.variable, row.size, row.encoding, raw)
		if row.size == 16 {
			continue
		}
		got := uint64(0)
		for _, x := range raw {
			got = got<<8 | uint64(x)
		}
		if got != row.value {
			t.Errorf("%s is %#x, want %#x", row.variable, got, row.value)
		}
	}
	fmt.Fprintf(&out, "%-14s %4d", "total", at)
	t.Log(out.String())
	if at != MPStateLen {
		t.Errorf("the rows take %d bytes", at)
	}
}

// What was written comes back, for traces.
func TestMPStateRoundTrip(t *testing.T) {
	m := busyPaperConnection(t)
	encoded := m.AppendState(nil)
	s, rest, err := ParseMPState(append(encoded, 7))
	if err != nil || len(rest) != 1 {
		t.Fatal(err, rest)
	}
	if !s.InRecovery() || s.Window-m.gate.control.Window() > 1e-4 || m.gate.control.Window()-s.Window > 1e-4 {
		t.Errorf("state %+v, cwnd %v", s, m.gate.control.Window())
	}
	if s.SendUna != m.out[requests].una.psn() || s.Slots != 64 || s.MaxPathID != 15 || s.Probability != 0.01 || s.Alpha != 1 || s.SmoothedRTT != m.rtt.srtt {
		t.Errorf("state %+v", s)
	}
	head := m.recv.in[requests].nxt
	for n := range seq(64) {
		i := (uint64(s.BitmapHead) + uint64(n)) % 64
		word := s.Bitmap[8*(i/32):][:8]
		v := slot(word[7-i%32/4]>>(i%4*2)) & 3
		if v != m.recv.in[requests].slots.at(head+n) {
			t.Errorf("slot %d after the head is %d, want %d", n, v, m.recv.in[requests].slots.at(head+n))
		}
	}
	if again := s.Append(nil); string(again) != string(encoded) {
		t.Error("decoding and encoding changes the table")
	}
}

// Modes that keep more than the table has room for have none.
func TestMPStateOnlyOfThePaper(t *testing.T) {
	fresh, err := NewMP(mpConfig(mpMemory{newTestMemory()}, PaperOptions(), 1))
	if err != nil {
		t.Fatal(err)
	}
	wire := newMPTestWith(t, WireOptions(), mpAttr())
	if len(fresh.AppendState(nil)) != 0 || len(wire.mp.AppendState(nil)) != 0 {
		t.Error("a table of a state that does not fit")
	}
	if idle := newMPTestWith(t, PaperOptions(), mpAttr()).mp.AppendState(nil); len(idle) != MPStateLen {
		t.Errorf("an idle connection has %d bytes of state", len(idle))
	}
}

// Any bytes are either refused with ErrStateTable or come back as they were.
func FuzzMPState(f *testing.F) {
	f.Add(make([]byte, MPStateLen))
	f.Add(busyState)
	f.Fuzz(func(t *testing.T, b []byte) {
		s, rest, err := ParseMPState(b)
		if err != nil {
			if !errors.Is(err, ErrStateTable) {
				t.Fatal(err)
			}
			return
		}
		if got := s.Append(nil); string(got) != string(b[:MPStateLen]) || len(rest) != len(b)-MPStateLen {
			t.Errorf("%x came back as %x", b[:MPStateLen], got)
		}
	})
}

// busyState is a table from a trace.
var busyState = func() []byte {
	s := MPState{Window: 17.25, Inflate: -3, SendUna: 0xfffffe, SendNext: 20, Slots: 64, Recovery: 9, BitmapHead: 63, RTTMeasured: true, Probability: 0.01}
	return s.Append(nil)
}()
