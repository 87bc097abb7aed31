package transport

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/braid-rdma/braid/wire"
)

const (
	allAccess  = LocalWrite | RemoteWrite | RemoteRead | RemoteAtomic
	regionSize = 64 << 10
)

// rcEnd is a queue pair with a memory and one region of its own.
type rcEnd struct {
	*RC
	t      testing.TB
	mem    *testMemory
	region *Region
	packet Packet // reused, as an engine does
	posted uint64
}

// rcDefaults connects with small, quick values; tests change what they are about.
func rcDefaults() Attr {
	return Attr{
		MTU: 256, RemoteQPN: 0x22, SendPSN: 0, RecvPSN: 0, Reads: 4, ReadsServed: 4,
		Timeout: 8, RetryCount: 7, RNRRetry: 7, MinRNRTimer: 1,
	}
}

func rcConfig(mem *testMemory) Config {
	return Config{
		Number: 0x11, PD: 7, SendDepth: 64, RecvDepth: 64, MaxSendSGE: 4, MaxRecvSGE: 4, MaxInline: 64,
		Memory: mem, Rand: rand.New(rand.NewPCG(1, 2)),
	}
}

func newRCEnd(t testing.TB, attr Attr) *rcEnd {
	t.Helper()
	return newRCEndWith(t, attr, RCOptions{})
}

func newRCEndWith(t testing.TB, attr Attr, o RCOptions) *rcEnd {
	t.Helper()
	mem := newTestMemory()
	cfg := rcConfig(mem)
	cfg.RC = o
	q, err := NewRC(cfg)
	if err != nil {
		t.Fatal(err)
	}
	e := &rcEnd{RC: q, t: t, mem: mem, region: mem.register(7, regionSize, allAccess)}
	for _, s := range []State{Init, RTR, RTS} {
		if err := q.Modify(1, s, &attr); err != nil {
			t.Fatalf("to %v: %v", s, err)
		}
	}
	return e
}

// post posts a signalled request whose ID is its number, counted from 1.
func (e *rcEnd) post(wr SendWR) {
	e.t.Helper()
	e.posted++
	wr.ID = e.posted
	wr.Flags |= Signaled
	if err := e.PostSend(1, &wr); err != nil {
		e.t.Fatalf("post %v: %v", wr.Op, err)
	}
}

func (e *rcEnd) recv(id uint64, length int) {
	e.t.Helper()
	if err := e.PostRecv(&RecvWR{ID: id, SGEs: []SGE{e.region.span(0, length)}}); err != nil {
		e.t.Fatal(err)
	}
}

// rcScript is one queue pair whose peer is the test itself.
type rcScript struct {
	*rcEnd
	now Time
}

func newRCScript(t testing.TB, change func(*Attr)) *rcScript {
	t.Helper()
	attr := rcDefaults()
	if change != nil {
		change(&attr)
	}
	return &rcScript{rcEnd: newRCEnd(t, attr), now: 1000}
}

// write posts a WRITE of so many packets, the last of them one byte short.
func (s *rcScript) write(packets int) {
	s.t.Helper()
	n := packets*s.attr.MTU - 1
	s.post(SendWR{Op: OpWrite, SGEs: []SGE{s.region.span(0, n)}, RemoteAddr: 1 << 40, RKey: 9})
}

func (s *rcScript) read(packets int) {
	s.t.Helper()
	s.post(SendWR{Op: OpRead, SGEs: []SGE{s.region.span(0, packets*s.attr.MTU)}, RemoteAddr: 1 << 40, RKey: 9})
}

func (s *rcScript) fetchAdd() {
	s.t.Helper()
	s.post(SendWR{Op: OpFetchAdd, SGEs: []SGE{s.region.span(0, 8)}, RemoteAddr: 1 << 40, RKey: 9, SwapAdd: 1})
}

// show is a packet in the words of the tests: opcode and number, with a
// question mark where it asks for an acknowledgement.
func show(p *Packet) string {
	name := strings.TrimPrefix(p.Opcode.String(), "RC_")
	if p.Opcode == wire.Acknowledge {
		name = p.AETH.Syndrome.String()
		if p.AETH.Syndrome.IsAck() {
			name = "ACK"
		}
	}
	out := fmt.Sprintf("%s %d", name, p.PSN)
	if p.AckReq {
		out += "?"
	}
	return out
}

// sent polls everything that is to be transmitted.
func (s *rcScript) sent() []string {
	var out []string
	for s.PollTransmit(s.now, &s.packet) {
		checkShape(s.t, &s.packet)
		out = append(out, show(&s.packet))
		if len(out) > 10000 {
			s.t.Fatal("transmits without end")
		}
	}
	return out
}

// checkShape checks what holds for every packet that leaves.
func checkShape(t testing.TB, p *Packet) {
	t.Helper()
	if totalLength(p.Spans) != uint64(p.Length) {
		t.Fatalf("%s: spans hold %d bytes, length is %d", show(p), totalLength(p.Spans), p.Length)
	}
	if (p.Length+int(p.Pad))%4 != 0 || p.Pad > 3 {
		t.Fatalf("%s: pad %d for %d bytes", show(p), p.Pad, p.Length)
	}
	if p.PKey != wire.DefaultPKey {
		t.Fatalf("%s: partition key %#x", show(p), p.PKey)
	}
}

func (s *rcScript) wantSent(why string, want ...string) {
	s.t.Helper()
	if got := s.sent(); !slices.Equal(got, want) {
		s.t.Fatalf("%s:\nsent %q\nwant %q", why, got, want)
	}
}

// response hands the queue pair an answer from its peer.
func (s *rcScript) response(op wire.Opcode, psn wire.PSN, length int, change func(*Packet)) Verdict {
	p := &s.packet
	*p = Packet{Spans: p.Spans[:0], Length: length}
	p.BTH = wire.BTH{Opcode: op, PKey: wire.DefaultPKey, DestQP: s.Number(), PSN: psn}
	p.AETH = wire.AETH{Syndrome: wire.AckSyndrome(wire.NoCredit)}
	if change != nil {
		change(p)
	}
	v := s.HandlePacket(s.now, p)
	if v == Place && totalLength(p.Spans) != uint64(p.Length) {
		s.t.Fatalf("%s: placed %d bytes of %d", show(p), totalLength(p.Spans), p.Length)
	}
	return v
}

// request hands the queue pair a request, with an acknowledgement asked for.
func (s *rcScript) request(op wire.Opcode, psn wire.PSN, length int, change func(*Packet)) Verdict {
	return s.response(op, psn, length, func(p *Packet) {
		p.AckReq = true
		p.RETH = wire.RETH{VA: s.region.Base, RKey: s.region.RKey, Length: uint32(length)}
		p.AtomicETH = wire.AtomicETH{VA: s.region.Base, RKey: s.region.RKey, SwapAdd: 1}
		if change != nil {
			change(p)
		}
	})
}

func (s *rcScript) ack(psn wire.PSN) Verdict { return s.response(wire.Acknowledge, psn, 0, nil) }

func (s *rcScript) nak(psn wire.PSN, syndrome wire.Syndrome) {
	s.response(wire.Acknowledge, psn, 0, func(p *Packet) { p.AETH.Syndrome = syndrome })
}

func (s *rcScript) readLength(n int) func(*Packet) {
	return func(p *Packet) { p.RETH.Length = uint32(n) }
}

func (s *rcScript) advanceToTimer() {
	s.t.Helper()
	at := s.Timeout()
	if at == Never {
		s.t.Fatal("no timer is armed")
	}
	s.now = max(s.now, at)
	s.HandleTimeout(s.now)
}

// completions polls all, each as "id STATUS" without the common prefix.
func (e *rcEnd) completions() []string {
	var out []string
	var c Completion
	for e.PollCompletion(&c) {
		out = append(out, fmt.Sprintf("%d %s", c.WRID, strings.TrimPrefix(c.Status.String(), "IBV_WC_")))
	}
	return out
}

func (e *rcEnd) wantCompletions(why string, want ...string) {
	e.t.Helper()
	if got := e.completions(); !slices.Equal(got, want) {
		e.t.Fatalf("%s:\ncompleted %q\nwant %q", why, got, want)
	}
}

func (e *rcEnd) wantEvents(why string, want ...EventKind) {
	e.t.Helper()
	var got []EventKind
	var ev Event
	for e.PollEvent(&ev) {
		got = append(got, ev.Kind)
	}
	if !slices.Equal(got, want) {
		e.t.Fatalf("%s: events %v, want %v", why, got, want)
	}
}

func (e *rcEnd) wantState(why string, want State) {
	e.t.Helper()
	if e.State() != want {
		e.t.Fatalf("%s: state %v, want %v", why, e.State(), want)
	}
}
