package session

import (
	"testing"
	"time"
)

// dialogue is two sessions with programs that take each message as it comes, in virtual time. Frames take none.
type dialogue struct {
	t    *testing.T
	now  time.Duration
	ends [2]*Session
	got  [2]int // messages that the program of each end has received
	// terse ends acknowledge on messages, when they are asked, and by time: they do not tell a peer that waits for
	// the window of their own accord, as algorithm 1 of the paper does not.
	terse bool
	// idle programs take nothing.
	idle bool
}

func newDialogue(t *testing.T, cfg Config) *dialogue {
	d := &dialogue{t: t, now: 1, ends: [2]*Session{New(cfg), New(cfg)}}
	for _, s := range d.ends {
		s.Posted(s.Wanted())
	}
	d.ends[0].Grant(d.ends[1].Granted())
	d.ends[1].Grant(d.ends[0].Granted())
	return d
}

// sendEach queues so many messages at each end.
func (d *dialogue) sendEach(messages int) {
	for _, s := range d.ends {
		for range messages {
			s.Send(d.now, &Out{Kind: Oneway, Length: 8})
		}
	}
}

// sends says whether an end looks for a frame to send.
func (d *dialogue) sends(s *Session) bool {
	return !d.terse || s.tx.peek(s.mayCall()) != nil || s.ackNow || s.nopDue
}

// settle lets happen what needs no time.
func (d *dialogue) settle() {
	d.t.Helper()
	for again := true; again; {
		again = false
		for i, s := range d.ends {
			for d.sends(s) {
				f, ok := s.PollFrame(d.now, nil)
				if !ok {
					break
				}
				again = true
				d.land(1-i, f)
			}
		}
		if !d.idle {
			again = d.take(all) || again
		}
	}
}

// land hands a frame to an end.
func (d *dialogue) land(to int, f Frame) {
	d.t.Helper()
	s, frame := d.ends[to], f.Header
	if f.Message != nil {
		frame = append(frame, make([]byte, f.Message.Length)...)
	}
	if _, err := s.Arrived(d.now, f.Immediate, frame, &In{}); err != nil {
		d.t.Fatal(err)
	}
	s.Posted(s.Wanted())
}

const all = 1 << 20

// take lets each program receive so many messages, or what there is.
func (d *dialogue) take(most int) (some bool) {
	for i, s := range d.ends {
		for range most {
			m, ok := s.PollDelivery()
			if !ok {
				break
			}
			s.Taken(d.now, m)
			d.got[i]++
			some = true
		}
		s.Posted(s.Wanted())
	}
	return some
}

// fill makes both windows full. As many messages as they have wait at each end.
func (d *dialogue) fill(window int) {
	d.t.Helper()
	d.idle = true
	d.sendEach(2 * window)
	d.settle()
	for i, s := range d.ends {
		if w := s.Window(); w.Sendable != 0 || w.Held != window || s.Queued() != window {
			d.t.Fatalf("end %d: %+v, %d queued; want two full windows", i, w, s.Queued())
		}
	}
}

const foreverLong = time.Hour // that no acknowledgement comes by itself

// Two windows are full, both programs have received everything, and neither end owes the other an acknowledgement yet: only the
// NOP gets it going.
func TestNopEndsTheDeadlock(t *testing.T) {
	const window, patience = 4, 20 * time.Millisecond
	d := newDialogue(t, Config{MinWindow: window, MaxWindow: window, AckDelay: foreverLong, NopAfter: patience})
	d.terse = true
	d.fill(window)
	d.idle = false
	d.settle()
	for i, s := range d.ends {
		if d.got[i] != window || s.Queued() != window {
			t.Fatalf("end %d has received %d messages, and %d wait; want a deadlock", i, d.got[i], s.Queued())
		}
		if at := s.Timeout(); at != 1+patience {
			t.Fatalf("end %d wants to be called at %v, want %v", i, at, 1+patience)
		}
	}
	d.now += patience
	for _, s := range d.ends {
		s.HandleTimeout(d.now)
	}
	d.settle()
	for i, s := range d.ends {
		if d.got[i] != 2*window || s.Queued() != 0 {
			t.Errorf("end %d has received %d messages, and %d wait: the NOP has not ended the deadlock; %s", i, d.got[i], s.Queued(), s.Describe())
		}
		if n := s.Counters().Nops; n != 1 {
			t.Errorf("end %d has sent %d NOPs, want one", i, n)
		}
	}
}

// With one full window, the peer has to be made to acknowledge: it has nothing to send itself.
func TestNopAsks(t *testing.T) {
	const window, patience = 4, 20 * time.Millisecond
	d := newDialogue(t, Config{MinWindow: window, MaxWindow: window, AckDelay: foreverLong, NopAfter: patience})
	d.terse = true
	a := d.ends[0]
	for range 2 * window {
		a.Send(d.now, &Out{Kind: Oneway, Length: 8})
	}
	d.settle()
	if d.got[1] != window || a.Queued() != window {
		t.Fatalf("%d messages are received and %d wait; want a full window", d.got[1], a.Queued())
	}
	for range 2 { // what does not wait does not ask
		d.now += patience
		a.HandleTimeout(d.now)
		d.settle()
	}
	if n := a.Counters().Nops; d.got[1] != 2*window || n != 1 {
		t.Errorf("%d messages are received after %d NOPs, want %d after one", d.got[1], n, 2*window)
	}
}

// Ends that are not terse, as all of this version are, tell a peer that has used up its window of each message that is received. So two
// full windows are no deadlock for them: it takes neither a timer nor a NOP.
func TestFullWindowsNeedNoTimer(t *testing.T) {
	const window = 8
	d := newDialogue(t, Config{MinWindow: window, MaxWindow: window, AckEvery: 1000, AckDelay: foreverLong, NopAfter: foreverLong})
	d.fill(window)
	for taken := 1; taken <= window; taken++ {
		d.take(1)
		d.settle()
		for i, s := range d.ends {
			if s.Queued() != window-taken || s.Counters().Nops != 0 {
				t.Fatalf("end %d: %d messages wait and it has asked %d times when the peer has received %d of %d", i, s.Queued(), s.Counters().Nops, taken, window)
			}
		}
	}
}

// Who waits for acknowledgements asks, and has them before the peer's delay is over. Without anything to wait for it
// does not ask.
func TestAskForAck(t *testing.T) {
	d := newDialogue(t, Config{AckDelay: foreverLong})
	a, b := d.ends[0], d.ends[1]
	a.Send(d.now, &Out{Kind: Oneway, Length: 8})
	d.settle()
	if a.Unacknowledged() != 1 {
		t.Fatalf("%d messages are not acknowledged, want one", a.Unacknowledged())
	}
	a.AskForAck()
	d.settle()
	if _, ok := a.PollAcked(); !ok || a.Unacknowledged() != 0 {
		t.Errorf("%d messages are not acknowledged", a.Unacknowledged())
	}
	a.AskForAck()
	d.settle()
	// A NOP is not counted as an acknowledgement, though it is one.
	if na, nb := a.Counters(), b.Counters(); na.Nops != 1 || na.Acks != 0 || nb.Nops != 0 || nb.Acks != 1 {
		t.Errorf("%d NOPs and %d acknowledgements one way, %d and %d the other; want 1 and 0, 0 and 1", na.Nops, na.Acks, nb.Nops, nb.Acks)
	}
}

// Who tells the peer that its control frames have come has receives for the next ones: the peer may send these at once, and all that
// its window allows.
func TestEchoWaitsForReceives(t *testing.T) {
	a, b := pair()
	arrive := func(f Frame) {
		t.Helper()
		if b.rx.posted == 0 {
			t.Fatal("a frame finds no receive")
		}
		frame := f.Header
		if f.Message != nil {
			frame = append(frame, make([]byte, f.Message.Length)...)
		}
		if _, err := b.Arrived(1, f.Immediate, frame, &In{}); err != nil {
			t.Fatal(err)
		}
	}
	sendAll := func() {
		for f, ok := a.PollFrame(1, nil); ok; f, ok = a.PollFrame(1, nil) {
			arrive(f)
		}
	}
	askTwice := func() {
		t.Helper()
		for range 2 {
			nops := a.count.Nops
			a.AskForAck()
			if sendAll(); a.count.Nops != nops+1 {
				t.Fatal("there was no NOP")
			}
		}
	}
	a.Send(1, &Out{Kind: Oneway, Length: 8}) // which the program at b does not take
	sendAll()
	askTwice()
	if b.Pressed() { // as the owner of a context does
		b.Posted(b.Wanted())
	}
	f, ok := b.PollFrame(1, nil)
	if !ok {
		t.Fatal("the NOPs are not told of")
	}
	if _, err := a.Arrived(1, f.Immediate, f.Header, &In{}); err != nil {
		t.Fatal(err)
	}
	for range 1000 { // bundles hold several
		a.Send(1, &Out{Kind: Oneway, Length: 600})
	}
	sendAll()
	askTwice()
}
