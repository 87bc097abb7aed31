package transport

import (
	"errors"
	"fmt"
	"testing"

	"github.com/braid-rdma/braid/wire"
)

const testKeepalive = 10 * Millisecond

func newKeepaliveScript(t *testing.T, change func(*Attr)) *rcScript {
	t.Helper()
	return newRCScript(t, func(a *Attr) {
		a.Keepalive, a.RetryCount = testKeepalive, 2
		if change != nil {
			change(a)
		}
	})
}

// TestRCKeepaliveAsksASilentPeer: a WRITE of no bytes, which needs no key and of
// which the program is told nothing.
func TestRCKeepaliveAsksASilentPeer(t *testing.T) {
	s := newKeepaliveScript(t, nil)
	s.cfg.SignalAll = true
	for psn := range wire.PSN(3) {
		s.wantSent("not yet")
		s.advanceToTimer()
		if want := fmt.Sprintf("WRITE_ONLY %d?", psn); !s.PollTransmit(s.now, &s.packet) || show(&s.packet) != want {
			t.Fatalf("sent %s, want %s", show(&s.packet), want)
		}
		if s.packet.Length != 0 || s.packet.RETH != (wire.RETH{}) {
			t.Fatalf("%d bytes for %+v, want none for nobody", s.packet.Length, s.packet.RETH)
		}
		s.wantSent("once")
		s.now += Microsecond
		s.ack(psn)
		if s.Timeout() > s.now+testKeepalive {
			t.Fatalf("looks again in %d ns, want within %d", s.Timeout()-s.now, testKeepalive)
		}
		s.advanceToTimer() // something of the peer arrived a microsecond after this timer was set
	}
	s.wantCompletions("nothing of it")
	s.wantEvents("nothing of it")
	if got := s.Counters().Keepalives; got != 3 {
		t.Errorf("%d counted, want 3", got)
	}
}

// TestRCKeepaliveIsNotNeeded while packets of the peer arrive.
func TestRCKeepaliveIsNotNeeded(t *testing.T) {
	s := newKeepaliveScript(t, nil)
	for psn := range wire.PSN(5) {
		s.now += testKeepalive / 2
		s.HandleTimeout(s.now)
		s.request(wire.WriteOnly, psn, 0, nil)
		s.sent()
	}
	if got := s.Counters().Keepalives; got != 0 {
		t.Errorf("a peer that sends was asked %d times", got)
	}
	s.now = s.Timeout()
	s.HandleTimeout(s.now)
	s.wantSent("half a period after the last packet")
	s.advanceToTimer()
	s.wantSent("a whole period after it", "WRITE_ONLY 0?")
}

// TestRCKeepaliveIsNotSentBesideRequests: a request in flight shows the same.
func TestRCKeepaliveIsNotSentBesideRequests(t *testing.T) {
	s := newKeepaliveScript(t, func(a *Attr) { a.Timeout = 14 }) // 67 ms
	s.write(1)
	s.wantSent("a request", "WRITE_ONLY 0?")
	for range 3 {
		s.advanceToTimer()
		s.wantSent("nothing beside it")
	}
}

// TestRCKeepaliveEndsAConnection whose peer is dead, though the program has
// nothing outstanding.
func TestRCKeepaliveEndsAConnection(t *testing.T) {
	s := newKeepaliveScript(t, nil)
	s.recv(70, 100)
	s.advanceToTimer()
	s.wantSent("asks", "WRITE_ONLY 0?")
	for range 2 {
		s.advanceToTimer()
		s.wantSent("asks again", "WRITE_ONLY 0?")
	}
	s.wantState("not yet", RTS)
	s.advanceToTimer()
	s.wantSent("gives up")
	s.wantState("gives up", Err)
	s.wantCompletions("only what the program has posted", "70 WR_FLUSH_ERR")
	s.wantEvents("gives up", EventQPFatal)
	if s.Timeout() != Never {
		t.Error("a timer survived the error")
	}
}

// TestRCKeepaliveIsPatient: a peer that is stopped for a while, or on a busy
// machine, is waited for much longer than the ACK timeout says.
func TestRCKeepaliveIsPatient(t *testing.T) {
	const every = 10 * Second
	patient := func(a *Attr) { a.Keepalive, a.Timeout, a.RetryCount = every, 14, 7 }
	s := newKeepaliveScript(t, patient)
	s.advanceToTimer()
	asked := s.now
	for range 8 {
		s.wantSent("asks", "WRITE_ONLY 0?")
		s.now = s.timers.deadlineOf(rcAckTimer)
		if s.now < asked+every/2 {
			s.HandleTimeout(s.now)
		}
	}
	if s.now != asked+every/2 {
		t.Errorf("gives up %v after the first question, want %v", s.now-asked, every/2)
	}
	s.ack(0)
	s.wantState("the last question has arrived", RTS)

	// A request of the program does not wait for a lost question, nor suffer from
	// its retries.
	s = newKeepaliveScript(t, patient)
	s.advanceToTimer()
	s.wantSent("asks", "WRITE_ONLY 0?")
	for range 7 {
		s.advanceToTimer()
		s.wantSent("asks again", "WRITE_ONLY 0?")
	}
	s.write(1)
	s.wantSent("the program's", "WRITE_ONLY 1?")
	began := s.now
	for range 7 {
		s.advanceToTimer()
		s.wantSent("again, the window being narrow", "WRITE_ONLY 0?")
	}
	s.advanceToTimer()
	s.wantCompletions("given up", "1 RETRY_EXC_ERR")
	if took, want := s.now-began, 8*s.attr.ackTimeout(); took != want {
		t.Errorf("given up after %v, want %v", took, want)
	}
}

// TestRCKeepaliveAndRequestsBehindIt: packet numbers and retransmission are those
// of any request, the queue has the depth that the program asked for, and the
// status of the end goes to the program's oldest request.
func TestRCKeepaliveAndRequestsBehindIt(t *testing.T) {
	s := newKeepaliveScript(t, nil)
	s.advanceToTimer()
	s.wantSent("asks", "WRITE_ONLY 0?")
	for range s.cfg.SendDepth {
		s.write(1)
	}
	if err := s.PostSend(s.now, &SendWR{Op: OpWrite}); !errors.Is(err, ErrQueueFull) {
		t.Errorf("a full queue returns %v, want %v", err, ErrQueueFull)
	}
	if sent := s.sent(); len(sent) != s.cfg.SendDepth || sent[0] != "WRITE_ONLY 1?" {
		t.Fatalf("%d requests follow, from %s", len(sent), sent[0])
	}
	s.nak(0, wire.NakPSNSequence)
	if sent := s.sent(); len(sent) != s.cfg.SendDepth+1 || sent[0] != "WRITE_ONLY 0?" {
		t.Fatalf("%d requests again, from %s", len(sent), sent[0])
	}
	s.ack(1)
	s.wantCompletions("the first of the program", "1 SUCCESS")

	s = newKeepaliveScript(t, nil)
	s.advanceToTimer()
	s.sent()
	s.write(1)
	s.write(1)
	for range 3 {
		s.sent()
		s.advanceToTimer()
	}
	s.wantCompletions("as if it were not there", "1 RETRY_EXC_ERR", "2 WR_FLUSH_ERR")
}

// TestRCKeepaliveTakesThePlaceOfATimeout: who asks whether the peer lives does not
// wait for ever for the answer, nor for that to a request.
func TestRCKeepaliveTakesThePlaceOfATimeout(t *testing.T) {
	s := newKeepaliveScript(t, func(a *Attr) { a.Timeout = 0 })
	s.write(1)
	began := s.now
	for range 3 {
		s.wantSent("again", "WRITE_ONLY 0?")
		s.now = s.timers.deadlineOf(rcAckTimer)
		s.HandleTimeout(s.now)
	}
	s.wantCompletions("given up", "1 RETRY_EXC_ERR")
	if took := s.now - began; took != 3*testKeepalive {
		t.Errorf("given up after %d ns, want 3 periods of %d", took, testKeepalive)
	}
}

// TestRCKeepaliveNeedsRTS: a queue that drains starts nothing new, and Modify
// may turn keepalive off and on.
func TestRCKeepaliveNeedsRTS(t *testing.T) {
	s := newKeepaliveScript(t, nil)
	modify := func(to State, change func(*Attr)) {
		t.Helper()
		attr := s.Attr()
		if change != nil {
			change(&attr)
		}
		if err := s.Modify(s.now, to, &attr); err != nil {
			t.Fatal(err)
		}
	}
	modify(SQD, nil)
	for range 3 {
		s.advanceToTimer()
		s.wantSent("drained")
	}
	modify(RTS, nil)
	s.advanceToTimer()
	s.wantSent("back in RTS", "WRITE_ONLY 0?")
	s.ack(0)
	modify(RTS, func(a *Attr) { a.Keepalive = 0 })
	if s.Timeout() != Never {
		t.Error("a timer runs without keepalive")
	}
	attr := s.Attr()
	for _, bad := range []Time{-1, MaxKeepalive + 1} {
		attr.Keepalive = bad
		if err := s.Modify(s.now, RTS, &attr); !errors.Is(err, ErrAttr) {
			t.Errorf("a keepalive of %d ns returns %v, want %v", bad, err, ErrAttr)
		}
	}
}

// TestRCKeepaliveBetweenTwo: an idle connection lives on, at the price of two
// packets per period, and neither program is told of it.
func TestRCKeepaliveBetweenTwo(t *testing.T) {
	const periods = 20
	p := newRCPair(t, func(a *Attr) { a.Keepalive = testKeepalive })
	for end := p.now + periods*testKeepalive; p.now < end; {
		p.run()
		p.now = min(p.a.Timeout(), p.b.Timeout())
		p.a.HandleTimeout(p.now)
		p.b.HandleTimeout(p.now)
	}
	p.run()
	packets := uint64(0)
	for _, e := range []*rcEnd{p.a, p.b} {
		e.wantState("alive", RTS)
		e.wantCompletions("nothing")
		packets += e.Counters().PacketsSent
	}
	if packets < periods || packets > 4*(periods+1) {
		t.Errorf("%d packets in %d periods", packets, periods)
	}
}
