package transport

import (
	"testing"

	"github.com/braid-rdma/braid/wire"
)

// senderState is what an acknowledgement may change.
func senderState(m *MP) [5]float64 {
	return [5]float64{
		m.gate.control.Window(), float64(m.rtt.srtt), float64(m.gate.peerWindow),
		float64(m.gate.released), float64(m.loss.inFlight()),
	}
}

// Acknowledgements below snd_una that are copies, or are forged, change
// nothing and are counted.
func TestMPOldAcksChangeNothing(t *testing.T) {
	for _, selective := range []bool{false, true} {
		q := newMPTest(t, func(o *MPOptions) { o.Selective = selective; o.InitialWindow = 8 })
		q.write(100)
		q.acks(0, 1, 2, 3)
		q.forget()
		before, stale := senderState(q.mp), q.mp.Counters().Stale
		for n := range 4 {
			for _, edit := range []ackEdit{func(*wire.MPAck) {}, marked, onPath(7), withWindow(1), func(a *wire.MPAck) { a.SentAt -= 3e9 }} {
				a := q.ackOf(n)
				edit(&a)
				q.handle(a)
			}
		}
		if after := senderState(q.mp); after != before {
			t.Errorf("selective %v: window, srtt, peer window, released, in flight were %v and are %v", selective, before, after)
		}
		if got := q.mp.Counters().Stale - stale; got != 20 {
			t.Errorf("%d counted as stale, want 20", got)
		}
		q.wantIdle("they release nothing")
	}
}

// One that was overtaken by a later one is no copy: it still tells by which
// path and with which mark its packet arrived.
func TestMPOvertakenAckCounts(t *testing.T) {
	q := newMPTest(t, nil)
	q.write(100)
	late := q.ackOf(0)
	late.ECE = true
	q.receive(0)
	q.ack(1)
	before := q.mp.gate.control.Window()
	q.handle(late)
	if got := q.mp.gate.control.Window(); got != before-0.5 {
		t.Errorf("cwnd %v, want the mark to take half a packet of %v", got, before)
	}
	q.handle(late)
	if got := q.mp.gate.control.Window(); got != before-0.5 {
		t.Errorf("cwnd %v after a copy", got)
	}
}

// A peer that withholds the head can try no more than a few keys.
func TestMPKeyGuessingEnds(t *testing.T) {
	q := newMPTest(t, func(o *MPOptions) { o.Slots, o.Delta = 1024, 512 })
	for n := 1; n < 1000; n++ {
		p := q.peerWrite(n, 0, pattern(1, 10))
		p[0].RETH.RKey = 0xbad00 + wire.RKey(n)
		q.arrive(p...)
		if q.mp.State() == Err {
			if n > maxWrongKeys+1 {
				t.Errorf("%d keys could be tried", n)
			}
			q.wantRepliesIgnoringAcks("the peer is told", "NAK_REMOTE_ACCESS 9 refused 9 head 0")
			return
		}
	}
	t.Fatal("999 keys could be tried")
}

// A program that uses one key after its end, in many packets, is no guesser:
// what it asked for before completes first.
func TestMPOneWrongKeyWaitsForTheHead(t *testing.T) {
	q := newMPTest(t, nil)
	q.recv(1, 0, 10)
	bad := q.peerWrite(1, 0, pattern(1, 40*mpMTU))
	for i := range bad {
		bad[i].RETH.RKey = 0xbad
	}
	q.arrive(bad...)
	if q.mp.State() != RTS {
		t.Fatal("ended before the head")
	}
	q.arrive(q.peerSend(0, 0, pattern(2, 10))...)
	q.arrive(bad[0])
	got := q.completions()
	if len(got) != 1 || got[0].Status != Success || q.mp.State() != Err {
		t.Errorf("completions %+v in state %v", got, q.mp.State())
	}
}

// A path number that was not agreed on is refused, so that what is kept by path is
// bounded; and what is owed is bounded whatever comes.
func TestMPPathNumbersAreChecked(t *testing.T) {
	q := newMPTest(t, func(o *MPOptions) { o.BatchAcks = true; o.Slots, o.Delta = 1024, 512 })
	for n := range 60 {
		p := q.peerWrite(n, 0, pattern(1, 10))
		p[0].MP.Path = uint16(16 + n)
		if v := q.arrive1(p[0]); v != Drop {
			t.Fatalf("path %d of 16: verdict %v", p[0].MP.Path, v)
		}
	}
	if c := q.mp.Counters(); c.Malformed != 60 || c.PacketsReceived != 0 {
		t.Errorf("%d malformed, %d received", c.Malformed, c.PacketsReceived)
	}
}

func TestMPAckerIsBounded(t *testing.T) {
	a := acker{paths: 16}
	for n := range 10 * maxPendingAcks {
		p := Packet{Headers: wire.Headers{MP: wire.MPData{Path: uint16(n % 16)}}}
		a.owe(streamID(n%2), seq(n*100), &p, n%3 == 0) // far apart: no two fit into a batch
		a.oweProbe(&p)
	}
	if a.acks.len() != maxPendingAcks || a.probes.len() != maxProbeAcks {
		t.Errorf("%d acknowledgements and %d probes are kept", a.acks.len(), a.probes.len())
	}
}

// A message takes a shared receive when its data comes. One that is far ahead
// takes one, not all before it; and all that are ahead leave half to others.
func TestSharedReceivesAreClaimedSingly(t *testing.T) {
	const posted = 1024
	mem := newTestMemory()
	region := mem.register(1, posted*16, LocalWrite)
	shared, err := NewReceiveQueue(posted, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range posted {
		if err := shared.Post(&RecvWR{ID: uint64(i), SGEs: []SGE{region.span(16*i, 16)}}); err != nil {
			t.Fatal(err)
		}
	}
	user := func() *receives {
		own, err := NewReceiveQueue(MaxQueueDepth, MaxSGE, 1)
		if err != nil {
			t.Fatal(err)
		}
		return &receives{own: own, shared: shared}
	}
	hostile, honest := user(), user()
	if hostile.at(posted-1) == nil || shared.Len() != posted-1 {
		t.Fatalf("one message ahead left %d of %d", shared.Len(), posted)
	}
	hostile.at(posted - 1)
	if shared.Len() != posted-1 {
		t.Error("a message claimed twice")
	}
	for i := range posted {
		hostile.at(i + 1)
	}
	if shared.Len() < posted/2 {
		t.Errorf("messages ahead of the head left %d of %d", shared.Len(), posted)
	}
	for range posted / 2 {
		if honest.at(0) == nil {
			t.Fatal("nothing is left for a message at the head")
		}
		honest.consume()
	}
	hostile.clear()
	if shared.claimed != 0 || hostile.holes != 0 {
		t.Errorf("%d claims, %d holes after the end", shared.claimed, hostile.holes)
	}
}

// A later message never takes the receive that an earlier one needs: the
// program may post its next one only when the earlier one is complete.
func TestSharedReceivesAreLeftToEarlierMessages(t *testing.T) {
	mem := newTestMemory()
	region := mem.register(1, 64, LocalWrite)
	shared, _ := NewReceiveQueue(8, 1, 1)
	own, _ := NewReceiveQueue(8, 1, 1)
	r := receives{own: own, shared: shared}
	post := func() {
		if err := shared.Post(&RecvWR{SGEs: []SGE{region.span(0, 16)}}); err != nil {
			t.Fatal(err)
		}
	}
	post()
	if r.at(1) != nil {
		t.Fatal("the second message took the only receive")
	}
	if r.at(0) == nil {
		t.Fatal("the first message found none")
	}
	for range 5 {
		post()
	}
	if r.at(2) == nil || r.at(1) == nil {
		t.Error("there were enough for all")
	}
}

// A peer that is gone while nothing is outstanding is noticed by asking it.
func TestMPKeepalive(t *testing.T) {
	const every = 10 * Second
	alive := func(_ *MPOptions, a *Attr) { a.Keepalive, a.RetryCount = every, 3 }
	q := quiet(t, alive)
	id := q.write(1)
	q.forget()
	q.ack(0)
	q.wantDone("idle from now on", id)
	q.recv(7, 0, 10)
	for range 3 { // the peer lives, and says so
		from := q.now
		q.advanceToTimer()
		probes := q.probesOf()
		if len(probes) != 1 || q.now-from < every-mpRTT || q.now-from > every {
			t.Fatalf("%d questions after %v", len(probes), q.now-from)
		}
		q.handlePacket(Packet{Headers: wire.Headers{
			BTH: wire.BTH{Opcode: wire.MPProbeAck}, Ack: wire.MPAck{Path: probes[0].MP.Path, SentAt: probes[0].MP.SentAt},
		}})
	}
	from, questions := q.now, 0
	for q.mp.State() == RTS {
		q.advanceToTimer()
		questions += len(q.probesOf())
	}
	if got := q.now - from; questions != 4 || got > every+every/2 {
		t.Errorf("%d questions, and given up after %v; want one with 3 retries, in %v", questions, got, every+every/2)
	}
	if got := q.completions(); len(got) != 1 || got[0].Status != WRFlushErr {
		t.Errorf("completions %+v", got)
	}
	q.wantEvents("the program is told", EventQPFatal)

	q = quiet(t, func(_ *MPOptions, a *Attr) {})
	q.ack(q.number(q.sentOne().PSN))
	if at := q.mp.Timeout(); at != Never {
		t.Errorf("without keepalive an idle connection wakes at %v", at)
	}
}

// A peer that is stopped for a while, or on a busy machine, is waited for much
// longer than the ACK timeout says: half of the keepalive's period.
func TestMPKeepaliveIsPatient(t *testing.T) {
	const every = 10 * Second
	q := quiet(t, func(_ *MPOptions, a *Attr) { a.Keepalive, a.Timeout, a.RetryCount = every, 14, 7 })
	q.ack(q.number(q.sentOne().PSN))
	q.advanceToTimer()
	asked, probes := q.now, q.probesOf()
	for q.mp.Timeout() < asked+every/2-Millisecond {
		q.advanceToTimer()
		probes = append(probes, q.probesOf()...)
	}
	if len(probes) != 8 || q.mp.State() != RTS {
		t.Fatalf("%d questions in %v, state %v; want 8 and RTS", len(probes), q.now-asked, q.mp.State())
	}
	q.handlePacket(Packet{Headers: wire.Headers{
		BTH: wire.BTH{Opcode: wire.MPProbeAck}, Ack: wire.MPAck{Path: probes[7].MP.Path, SentAt: probes[7].MP.SentAt},
	}})
	from := q.now
	q.advanceToTimer()
	if got := len(q.probesOf()); got != 1 || q.now-from != every {
		t.Errorf("%d questions %v after the last response, want one after %v", got, q.now-from, every)
	}
}

// A connection begins with its first period: there was no silence before it, and
// Modify may turn keepalive off and on.
func TestMPKeepaliveBegins(t *testing.T) {
	const every = 10 * Second
	q := quiet(t, func(_ *MPOptions, a *Attr) { a.Keepalive = every })
	q.now += 20 * every
	for _, keepalive := range []Time{every, 0, every / 2} {
		attr := q.mp.Attr()
		attr.Keepalive = keepalive
		if err := q.mp.Modify(q.now, RTS, &attr); err != nil {
			t.Fatal(err)
		}
		want := Never
		if keepalive != 0 {
			want = q.now + keepalive
		}
		if got := q.mp.Timeout(); got != want {
			t.Errorf("keepalive %v: looks at the peer's silence at %v, want %v", keepalive, got, want)
		}
	}
}

// The watch over the peer begins with the connection, whatever the clock shows then: a
// peer that is still getting ready has the whole time.
func TestMPKeepaliveBeginsWithTheConnection(t *testing.T) {
	const every = Millisecond
	q := quiet(t, func(_ *MPOptions, a *Attr) { a.Keepalive = every })
	if q.now <= every {
		t.Fatalf("the clock shows %v, which tells nothing", q.now)
	}
	if waited := q.advanceToTimer(); waited != every {
		t.Errorf("asked a silent peer after %v, want %v", waited, every)
	}
	if probes := q.probesOf(); len(probes) != 1 {
		t.Errorf("%d questions, want one", len(probes))
	}
	if got := q.mp.Counters().Keepalives; got != 1 {
		t.Errorf("%d keepalives counted, want 1", got)
	}
}

// sentOne sends a packet and returns it.
func (q *mpTest) sentOne() Packet {
	q.write(1)
	p := q.unwanted[0]
	q.forget()
	return p
}

// A retransmission that was not needed is told apart from one that was.
func TestMPSpuriousRetransmissions(t *testing.T) {
	q := quiet(t, func(o *MPOptions, _ *Attr) { o.Selective = true })
	q.write(1)
	q.forget()
	original := q.ackOf(0)
	q.advanceToTimer()
	q.forget() // sent again
	again := q.ackOf(0)
	q.receive(0)
	original.AACK, again.AACK = q.psn(1), q.psn(1)
	q.handle(original)
	if c := q.mp.Counters(); c.Spurious != 0 || c.Retransmitted != 1 {
		t.Errorf("%d spurious of %d before the second arrived", c.Spurious, c.Retransmitted)
	}
	q.handle(again)
	q.handle(again)
	if c := q.mp.Counters(); c.Spurious != 1 {
		t.Errorf("%d spurious, want one", c.Spurious)
	}
}

func TestLedger(t *testing.T) {
	var l ledger
	una := seq(1 << 32)
	for s := una; s < una+1000; s++ {
		l.sent(s, una)
	}
	l.sent(una, una)
	for i, want := range []struct{ ok, repeated bool }{{true, false}, {true, true}, {false, false}} {
		if ok, repeated := l.take(una); ok != want.ok || repeated != want.repeated {
			t.Errorf("take %d of a packet sent twice: %v, %v", i, ok, repeated)
		}
	}
	if ok, _ := l.take(una + 1000); ok {
		t.Error("a packet that was not sent")
	}
	for s := una + 1000; s < una+1<<16; s++ {
		l.sent(s, s-10)
		if ok, _ := l.take(s); !ok {
			t.Fatal("the packet just sent")
		}
	}
	if ok, _ := l.take(una + 1); ok {
		t.Error("a packet of long ago")
	}
	if len(l.counts) > 4096 {
		t.Errorf("the ring has grown to %d", len(l.counts))
	}
}
