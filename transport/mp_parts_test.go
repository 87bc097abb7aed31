package transport

import (
	"slices"
	"testing"

	"github.com/braid-rdma/braid/wire"
)

// The parts of MP by themselves: no queue pair, no packet, no clock.

func TestSendGate(t *testing.T) {
	o := PaperOptions()
	o.InitialWindow, o.MaxWindow = 10, 10
	g := sendGate{control: NewFixedWindow(&o), clocked: true}
	if got := g.allowance(0); got != 10 {
		t.Errorf("%d may go into an empty network, want the window of 10", got)
	}
	if got := g.allowance(4); got != 0 {
		t.Errorf("%d may go without a release, want none", got)
	}
	if r := g.reason(4); r != ReasonClock {
		t.Errorf("closed by %v, want the clock", r)
	}
	if n := g.release(4, true); n != 2 || g.allowance(4) != 2 {
		t.Errorf("an acknowledgement releases %d (§3.5: two)", n)
	}
	g.used()
	g.used()
	if n := g.release(9, true); n != 1 {
		t.Errorf("released %d into a window with room for one", n)
	}
	g.used()
	if n := g.release(4, false); n != 0 || !g.starved {
		t.Errorf("released %d with nothing to send, starved %v", n, g.starved)
	}
	g.openAll(3)
	if got := g.allowance(3); got != 7 {
		t.Errorf("%d may go after a restart, want 7", got)
	}
	g.peerWindow = 5
	if got := g.allowance(3); got != 2 {
		t.Errorf("%d may go to a peer that takes 5, want 2", got)
	}
	if r := g.reason(5); r != ReasonPeerWindow {
		t.Errorf("closed by %v, want the peer's window", r)
	}
	g.peerWindow = 0
	if r := g.reason(10); r != ReasonWindow {
		t.Errorf("closed by %v, want the window", r)
	}
}

// wantFound checks the verdicts since the last call.
func wantFound(t *testing.T, why string, r lossRecovery, want ...verdict) {
	t.Helper()
	if got := r.verdicts(); !slices.Equal(got, want) {
		t.Errorf("%s: verdicts %v, want %v", why, got, want)
	}
}

// Loss recovery returns verdicts: it knows neither paths nor counters. Packets of
// both streams on one path prove each other's loss.
func TestSelectiveRecoveryAlone(t *testing.T) {
	const first = seq(1000)
	r := newSelective([numStreams]seq{first, first}, 2)
	now := Second
	r.sent(requests, first, 1, now, false)
	for i := range seq(3) {
		r.sent(responses, first+i, 1, now+Time(i)+1, false)
	}
	wantFound(t, "nothing is known yet", r)
	if r.inFlight() != 4 {
		t.Fatalf("%d in flight, want 4", r.inFlight())
	}
	for i := range seq(3) {
		if !r.acked(responses, first+i, 1, false) {
			t.Errorf("the acknowledgement of %d is no news", i)
		}
		wantFound(t, "arrived", r, verdict{first + i, foundArrived, 1})
	}
	r.detect(now+Millisecond, 1, Millisecond)
	wantFound(t, "three later packets of its path have arrived", r, verdict{first, foundLost, 1}, verdict{0, foundLosing, 1})
	if s, ok := r.next(requests); !ok || s != first {
		t.Errorf("to send again: %d, %v", s, ok)
	}
	if _, ok := r.next(responses); ok {
		t.Error("a response is to be sent again")
	}
	r.acked(requests, first, 1, false)
	wantFound(t, "it arrived after all", r, verdict{first, foundLate, 1})
	r.advanced(requests, first+1)
	r.advanced(responses, first+3)
	wantFound(t, "all was known", r)
	if r.inFlight() != 0 {
		t.Errorf("%d in flight at the end", r.inFlight())
	}
}

func TestPathSetAlone(t *testing.T) {
	o := WireOptions()
	rng := mpConfig(mpMemory{newTestMemory()}, o, 1).Rand
	s := pathSet{table: newPathTable(2), retiring: true}
	s.use(NewRoundRobin(2, &o, rng), true)
	s.table.record(0).Sent, s.table.record(1).Sent = 1, 1
	const rtt = Millisecond
	if s.losing(Second, 0, false, false, rtt) {
		t.Error("a single loss retires a path")
	}
	if !s.losing(Second+2*rtt, 0, false, false, rtt) {
		t.Error("a path that loses while the other does not stays in use")
	}
	if s.losing(Second+3*rtt, 1, true, false, rtt) {
		t.Error("the last path was retired")
	}
	at := s.probeTime()
	s.probeDue = true
	for i := range probesToRestore {
		p, ok := s.probe(at)
		if !ok || p != 0 {
			t.Fatalf("probe %d: path %d, %v", i, p, ok)
		}
		restored := s.probeAcked(at, 0, at.stamp())
		if restored != (i == probesToRestore-1) {
			t.Fatalf("after %d probes restored: %v", i+1, restored)
		}
	}
	if s.restore(at, 0); s.inUse() != 2 || s.probeTime() != 0 {
		t.Errorf("%d paths in use, next probe at %v", s.inUse(), s.probeTime())
	}
}

// A stream that uses the other's time does not use up its own turn, and both
// alternate when both have something to send.
func TestTurns(t *testing.T) {
	var turn turns
	for range 100 {
		turn.sent(turn.stream.other())
	}
	first := turn.stream
	for range turnPackets {
		if turn.stream != first {
			t.Fatal("the turn ended early")
		}
		turn.sent(first)
	}
	if turn.stream == first {
		t.Error("the turn does not end")
	}
}

// The acker builds its own packets, graver things first, and each says how far
// the receiver has come.
func TestAckerAlone(t *testing.T) {
	var count Counters
	a := acker{paths: 4, count: &count, peer: 0x77, window: 9}
	at := reached{heads: [numStreams]seq{1000, 2000}, receives: 5}
	var p Packet
	if a.poll(at, &p) {
		t.Fatalf("%v is owed before anything arrived", p.Opcode)
	}
	data := Packet{Marked: true, Headers: wire.Headers{MP: wire.MPData{Path: 3, SentAt: 42}}}
	a.oweProbe(&data)
	a.owe(responses, 2001, &data, true)
	a.owe(responses, 2003, &data, true)
	a.refuse(requests, wire.NakPSNSequence, 1000, 1007, &data)
	for _, want := range []struct {
		op   wire.Opcode
		psn  wire.PSN
		says func() bool
	}{
		{wire.MPBit | wire.Acknowledge, 1000, func() bool {
			return p.AETH.Syndrome == wire.NakPSNSequence && p.Ack == wire.MPAck{Path: 3, SACK: 1007, AACK: 1000, SentAt: 42, Window: 9}
		}},
		{wire.MPAcknowledgeBatch, 2001, func() bool {
			return p.Batch == wire.MPAckBatch{Responses: true, Path: 3, Base: 2001, AACK: 2000, SentAt: 42, Window: 9, Received: 5, Marked: 5}
		}},
		{wire.MPProbeAck, 1000, func() bool {
			return p.Ack == wire.MPAck{Path: 3, SACK: 1000, AACK: 1000, SentAt: 42, Window: 9}
		}},
	} {
		if !a.poll(at, &p) || p.Opcode != want.op || p.PSN != want.psn || p.DestQP != 0x77 || p.AETH.MSN != 5 || p.Path != 3 || !want.says() {
			t.Errorf("packet %+v, want %v of %d", p, want.op, want.psn)
		}
	}
	if a.poll(at, &p) || count.AcksSent != 1 || count.NaksSent != 1 {
		t.Errorf("%d acknowledgements and %d refusals sent, want one each", count.AcksSent, count.NaksSent)
	}
}

// A silent peer is asked as often as its retries allow, and then given up; with
// packets outstanding their own timers watch.
func TestLivenessAlone(t *testing.T) {
	var l liveness
	idle := situation{attr: &Attr{Keepalive: 10 * Second, Timeout: 14, RetryCount: 1}, least: Millisecond}
	now := Second
	l.start(now)
	if got := l.next(now, &idle); got != now+10*Second {
		t.Errorf("looks at %v, want it after the keepalive", got)
	}
	look := func(s *situation, want silence) {
		t.Helper()
		found, again := l.look(now, s)
		if found != want {
			t.Fatalf("at %v found %d, want %d", now, found, want)
		}
		now = again
	}
	now += 9 * Second
	look(&idle, silenceShort)
	busy := idle
	busy.outstanding = true
	look(&busy, silenceShort)
	look(&idle, silenceAsked)
	look(&idle, silenceAgain)
	if !l.takeQuestion() || l.takeQuestion() {
		t.Error("a question is to be sent, once")
	}
	l.received(now)
	now += 10 * Second
	look(&idle, silenceAsked)
	look(&idle, silenceAgain)
	look(&idle, silenceFinal)
	patient := situation{attr: &Attr{RetryCount: 1}, awaiting: true, least: Millisecond}
	for range 5 {
		now += Second
		look(&patient, silenceAgain) // no ACK timeout: a response is waited for for ever
	}
}

// Two transmissions of a packet that arrive in one turn are acknowledged each: the sender learns that one was not needed.
func TestAckerNamesEachTransmission(t *testing.T) {
	var count Counters
	a := acker{paths: 2, count: &count}
	var p Packet
	p.MP.Path = 1
	for _, s := range []seq{7, 8, 7, 9, 8} {
		a.owe(requests, s, &p, true)
	}
	var got []uint64
	for a.acks.len() > 0 {
		b := a.pop()
		got = append(got, b.received<<(b.base-7))
	}
	// The third begins a batch, which the fourth joins, and the fifth.
	if want := []uint64{0b011, 0b111}; !slices.Equal(got, want) {
		t.Errorf("batches %b, want %b", got, want)
	}
}
