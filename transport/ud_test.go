package transport

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/braid-rdma/braid/wire"
)

const testQKey = 0x1234

// udEnd is a datagram queue pair with memory; the test is all its peers.
type udEnd struct {
	*UD
	t      testing.TB
	mem    *testMemory
	region *Region
	packet Packet
}

func newUDEnd(t testing.TB) *udEnd {
	t.Helper()
	mem := newTestMemory()
	q, err := NewUD(rcConfig(mem))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []State{Init, RTR, RTS} {
		if err := q.Modify(1, s, &Attr{QKey: testQKey, MTU: 1024, SendPSN: 0xffffff}); err != nil {
			t.Fatal(err)
		}
	}
	return &udEnd{UD: q, t: t, mem: mem, region: mem.register(7, 10000, allAccess)}
}

func (e *udEnd) post(id uint64, wr SendWR) error {
	wr.ID, wr.Flags = id, wr.Flags|Signaled
	wr.AH, wr.RemoteQPN, wr.RemoteQKey = 5, 0x33, testQKey
	return e.PostSend(1, &wr)
}

// datagram hands the queue pair a datagram of a stranger.
func (e *udEnd) datagram(length int, change func(*Packet)) Verdict {
	e.packet = Packet{Spans: e.packet.Spans[:0], Length: length, AH: 8}
	e.packet.BTH = wire.BTH{Opcode: wire.UDSendOnly, PKey: wire.DefaultPKey, DestQP: 0x11}
	e.packet.DETH = wire.DETH{QKey: testQKey, SrcQP: 0x44}
	if change != nil {
		change(&e.packet)
	}
	return e.HandlePacket(1, &e.packet)
}

func (e *udEnd) wantCompletions(why string, want ...string) {
	e.t.Helper()
	var got []string
	var c Completion
	for e.PollCompletion(&c) {
		got = append(got, fmt.Sprintf("%d %s", c.WRID, strings.TrimPrefix(c.Status.String(), "IBV_WC_")))
	}
	if !slices.Equal(got, want) {
		e.t.Fatalf("%s:\ncompleted %q\nwant %q", why, got, want)
	}
}

func TestUDSends(t *testing.T) {
	e := newUDEnd(t)
	for i, n := range []int{0, 1, 1023, 1024} {
		wr := SendWR{Op: OpSend, SGEs: scatter(e.region, 0, n)}
		want := wire.UDSendOnly
		if i%2 == 1 {
			wr.Op, wr.Imm, wr.Flags, want = OpSendImm, 9, Solicited, wire.UDSendOnlyImm
		}
		if err := e.post(uint64(i), wr); err != nil {
			t.Fatal(err)
		}
		if !e.PollTransmit(1, &e.packet) {
			t.Fatal("nothing to send")
		}
		p := &e.packet
		checkShape(t, p)
		if p.Opcode != want || p.DestQP != 0x33 || p.AH != 5 || p.Length != n || p.Solicited != (i%2 == 1) ||
			p.DETH != (wire.DETH{QKey: testQKey, SrcQP: 0x11}) || p.PSN != wire.PSN(0xffffff).Add(i) {
			t.Fatalf("%d bytes: %+v", n, p.BTH)
		}
	}
	e.wantCompletions("transmitted is complete", "0 SUCCESS", "1 SUCCESS", "2 SUCCESS", "3 SUCCESS")
	if e.PollTransmit(1, &e.packet) {
		t.Error("something was sent twice")
	}
}

func TestUDPrivilegedKey(t *testing.T) {
	e := newUDEnd(t)
	if err := e.PostSend(1, &SendWR{Op: OpSend, RemoteQKey: 0x80000000}); err != nil {
		t.Fatal(err)
	}
	e.PollTransmit(1, &e.packet)
	if e.packet.DETH.QKey != testQKey {
		t.Errorf("key %#x", e.packet.DETH.QKey)
	}
}

// TestUDInlineStaysUntilCompleted: a post after PollTransmit must not change
// the bytes that the engine is about to send.
func TestUDInlineStaysUntilCompleted(t *testing.T) {
	e := newUDEnd(t)
	for i := range 4 {
		if err := e.post(uint64(i), SendWR{Op: OpSend, Inline: []byte("first")}); err != nil {
			t.Fatal(err)
		}
	}
	for e.PollTransmit(1, &e.packet) {
	}
	if err := e.post(9, SendWR{Op: OpSend, Inline: []byte("later")}); err != nil {
		t.Fatal(err)
	}
	wantBytes(t, "inline", e.packet.Spans[0].Bytes(), []byte("first"))
}

func TestUDReceives(t *testing.T) {
	e := newUDEnd(t)
	recv := RecvWR{ID: 3, SGEs: []SGE{e.region.span(0, 30), e.region.span(100, 70)}}
	if err := e.PostRecv(&recv); err != nil {
		t.Fatal(err)
	}
	v := e.datagram(60, func(p *Packet) { p.Opcode, p.Imm, p.Solicited = wire.UDSendOnlyImm, 77, true })
	if v != Place || len(e.packet.Spans) != 1 || e.packet.Spans[0] != e.region.span(110, 60) {
		t.Fatalf("%v into %+v", v, e.packet.Spans)
	}
	var c Completion
	want := Completion{WRID: 3, Op: OpRecv, QPN: 0x11, Bytes: 100, Imm: 77, HasImm: true, Solicited: true, SrcQP: 0x44, Source: 8}
	if !e.PollCompletion(&c) || c != want {
		t.Fatalf("%+v, want %+v", c, want)
	}
}

func TestUDDropsInSilence(t *testing.T) {
	for name, c := range map[string]struct {
		receive int // bytes posted; 0: none
		length  int
		change  func(*Packet)
		counted func(*udEnd) uint64
	}{
		"no receive":        {0, 10, nil, func(e *udEnd) uint64 { return e.NoReceive() }},
		"receive too short": {49, 10, nil, func(e *udEnd) uint64 { return e.NoReceive() }},
		"wrong key":         {100, 10, func(p *Packet) { p.DETH.QKey++ }, func(e *udEnd) uint64 { return e.Counters().AccessErrors }},
		"other service":     {100, 10, func(p *Packet) { p.Opcode = wire.SendOnly }, func(e *udEnd) uint64 { return e.Counters().Malformed }},
		"other partition":   {100, 10, func(p *Packet) { p.PKey = 1 }, func(e *udEnd) uint64 { return e.Counters().Malformed }},
		"beyond the MTU":    {2000, 1025, nil, func(e *udEnd) uint64 { return e.Counters().Malformed }},
	} {
		t.Run(name, func(t *testing.T) {
			e := newUDEnd(t)
			if c.receive > 0 {
				if err := e.PostRecv(&RecvWR{ID: 1, SGEs: []SGE{e.region.span(0, c.receive)}}); err != nil {
					t.Fatal(err)
				}
			}
			if e.datagram(c.length, c.change) != Drop || c.counted(e) != 1 {
				t.Error("not dropped, or not counted")
			}
			e.wantCompletions("nothing")
			if e.State() != RTS || e.PollTransmit(1, &e.packet) {
				t.Error("it had an effect")
			}
		})
	}
}

func TestUDLocalErrorStopsOnlySends(t *testing.T) {
	e := newUDEnd(t)
	gone := e.mem.register(7, 10, allAccess)
	e.post(1, SendWR{Op: OpSend, SGEs: []SGE{e.region.span(0, 4)}})
	e.post(2, SendWR{Op: OpSend, SGEs: []SGE{gone.span(0, 4)}})
	e.post(3, SendWR{Op: OpSend, SGEs: []SGE{e.region.span(0, 4)}})
	e.PostRecv(&RecvWR{ID: 8, SGEs: []SGE{e.region.span(0, 100)}})
	e.mem.deregister(gone)
	for e.PollTransmit(1, &e.packet) {
	}
	e.wantCompletions("first fails, later are flushed", "1 SUCCESS", "2 LOC_PROT_ERR", "3 WR_FLUSH_ERR")
	if e.State() != SQE {
		t.Fatalf("state %v", e.State())
	}
	e.post(4, SendWR{Op: OpSend})
	e.wantCompletions("posted in SQE", "4 WR_FLUSH_ERR")
	if e.datagram(10, nil) != Place {
		t.Error("receiving stopped")
	}
	e.wantCompletions("received", "8 SUCCESS")
	if err := e.Modify(1, RTS, nil); err != nil {
		t.Fatal(err)
	}
	e.post(5, SendWR{Op: OpSend})
	if !e.PollTransmit(1, &e.packet) || e.packet.PSN != 0 {
		t.Error("sending does not resume")
	}
	e.wantCompletions("resumed", "5 SUCCESS")
}

func TestUDReceiveMemoryGone(t *testing.T) {
	e := newUDEnd(t)
	e.PostRecv(&RecvWR{ID: 8, SGEs: []SGE{e.region.span(0, 100)}})
	e.PostRecv(&RecvWR{ID: 9, SGEs: []SGE{e.region.span(0, 100)}})
	e.mem.deregister(e.region)
	if e.datagram(10, nil) != Drop {
		t.Error("placed into memory that is gone")
	}
	e.wantCompletions("local fault", "8 LOC_PROT_ERR", "9 WR_FLUSH_ERR")
}

func TestUDStatesAndPosts(t *testing.T) {
	e := newUDEnd(t)
	if err := e.post(1, SendWR{Op: OpWrite}); !errors.Is(err, ErrOperation) {
		t.Errorf("WRITE: %v", err)
	}
	if err := e.post(1, SendWR{Op: OpSend, SGEs: []SGE{e.region.span(0, 1025)}}); !errors.Is(err, ErrTooLong) {
		t.Errorf("beyond the MTU: %v", err)
	}
	e.post(1, SendWR{Op: OpSend})
	e.PollTransmit(1, &e.packet)
	e.post(2, SendWR{Op: OpSend})
	var ev Event
	if err := e.Modify(1, SQD, nil); err != nil {
		t.Fatal(err)
	}
	if e.PollTransmit(1, &e.packet) {
		t.Error("SQD starts nothing new")
	}
	if !e.PollEvent(&ev) || ev.Kind != EventSQDrained || e.PollEvent(&ev) {
		t.Errorf("drained: %v", ev.Kind)
	}
	if err := e.Modify(1, Err, nil); err != nil {
		t.Fatal(err)
	}
	e.wantCompletions("sent, and flushed", "1 SUCCESS", "2 WR_FLUSH_ERR")
	if err := e.Modify(1, RTS, nil); !errors.Is(err, ErrState) {
		t.Errorf("ERR to RTS: %v", err)
	}
	e.Modify(1, Reset, nil)
	if err := e.Modify(1, Init, &Attr{MTU: 300}); !errors.Is(err, ErrAttr) {
		t.Errorf("MTU 300: %v", err)
	}
	if err := e.Modify(1, Init, nil); err != nil || e.Attr().MTU != MaxMTU {
		t.Errorf("default MTU %d: %v", e.Attr().MTU, err)
	}
	if e.datagram(4, nil) != Drop {
		t.Error("INIT receives")
	}
	if e.Timeout() != Never || e.Paths() != nil {
		t.Error("datagrams have neither timers nor paths")
	}
}

func TestUDSteadyStateDoesNotAllocate(t *testing.T) {
	e := newUDEnd(t)
	spans := []Span{e.region.span(0, 500)}
	wr := SendWR{Op: OpSend, Flags: Signaled, SGEs: spans}
	recv := RecvWR{SGEs: []SGE{e.region.span(0, 1000)}}
	in := Packet{Length: 500}
	in.BTH = wire.BTH{Opcode: wire.UDSendOnly, PKey: wire.DefaultPKey}
	in.DETH.QKey = testQKey
	var c Completion
	round := func() {
		if e.PostSend(1, &wr) != nil || !e.PollTransmit(1, &e.packet) || e.PostRecv(&recv) != nil || e.HandlePacket(1, &in) != Place {
			t.Fatal("round failed")
		}
		for e.PollCompletion(&c) {
		}
	}
	for range 10 {
		round()
	}
	if n := testing.AllocsPerRun(50, round); n != 0 {
		t.Fatalf("%v allocations per datagram", n)
	}
}
