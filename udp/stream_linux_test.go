package udp

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/braid-rdma/braid/verbs"
)

// stream moves numbered messages from a to b by WRITE with immediate data, and
// checks at b that each comes once, in order and with the right bytes. One
// thread posts and polls at both ends, so it stops exactly where a test wants.
type stream struct {
	a, b                   *end
	size, depth            int
	posted, sent, received int
	out                    [16]verbs.Completion
	active                 time.Duration // time in which the thread of the stream ran
	lastStep               time.Time
	lastSent               time.Duration // in active time; negative: not yet
	longestGap             time.Duration // between two completions at a, in active time
}

// stepTime is the longest that a step takes when the thread runs. What goes beyond it
// the machine has given to others: it says nothing of the connection.
const stepTime = 5 * time.Millisecond

// streamMemory is the memory that both ends of a stream need.
func streamMemory(size, depth int) int { return 2 * size * depth }

// newStream prepares a stream of messages of a size (a multiple of 8), of which
// depth are under way at a time.
func newStream(a, b *end, size, depth int) *stream {
	s := &stream{a: a, b: b, size: size, depth: depth}
	for i := range 2 * depth {
		noError(a.t, b.qp.PostRecv(&verbs.RecvWR{ID: uint64(i)}))
	}
	return s
}

// slot is the place of a message in the memory of both ends. There are twice as
// many as are under way, so that a place is written only when it was checked.
func (s *stream) slot(n int) int { return n % (2 * s.depth) * s.size }

// word is what a message holds at each of its words.
func word(message, index int) uint64 {
	return uint64(message+1)*0x9e3779b97f4a7c15 + uint64(index)
}

func (s *stream) post() error {
	at := s.slot(s.posted)
	local := s.a.mr.Bytes()[at : at+s.size]
	for i := 0; i < s.size; i += 8 {
		binary.LittleEndian.PutUint64(local[i:], word(s.posted, i))
	}
	err := s.a.qp.PostSend(&verbs.SendWR{
		ID: uint64(s.posted), Op: verbs.OpWriteImm, Flags: verbs.Signaled, Imm: uint32(s.posted),
		SGEs:       []verbs.SGE{s.a.mr.SGE(at, s.size)},
		RemoteAddr: s.b.mr.Addr() + uint64(at), RKey: s.b.mr.RKey(),
	})
	if err == nil {
		s.posted++
	}
	return err
}

// pollSent takes completions at a, which come in posting order.
func (s *stream) pollSent() error {
	n, err := s.a.cq.Poll(s.out[:])
	for _, c := range s.out[:n] {
		if err := c.Err(); err != nil {
			return fmt.Errorf("a: %w; %+v", err, s.a.qp.Stats())
		}
		if c.WRID != uint64(s.sent) {
			return fmt.Errorf("a: completion of %d, want %d", c.WRID, s.sent)
		}
		s.sent++
		if s.lastSent >= 0 {
			s.longestGap = max(s.longestGap, s.active-s.lastSent)
		}
		s.lastSent = s.active
	}
	return err
}

// pollReceived takes completions at b and compares the bytes.
func (s *stream) pollReceived() error {
	n, err := s.b.cq.Poll(s.out[:])
	for _, c := range s.out[:n] {
		if err := c.Err(); err != nil {
			return fmt.Errorf("b: %w", err)
		}
		if c.Imm != uint32(s.received) || int(c.Bytes) != s.size {
			return fmt.Errorf("b: message %d of %d bytes, want %d of %d", c.Imm, c.Bytes, s.received, s.size)
		}
		at := s.slot(s.received)
		got := s.b.mr.Bytes()[at : at+s.size]
		for i := 0; i < s.size; i += 8 {
			if v := binary.LittleEndian.Uint64(got[i:]); v != word(s.received, i) {
				return fmt.Errorf("b: message %d has the wrong bytes at %d", s.received, i)
			}
		}
		s.received++
		if err := s.b.qp.PostRecv(&verbs.RecvWR{ID: c.WRID}); err != nil {
			return err
		}
	}
	return err
}

// step does a little of everything, and posts as long as more is wanted.
func (s *stream) step(more bool) error {
	now := time.Now()
	s.active += min(now.Sub(s.lastStep), stepTime)
	s.lastStep = now
	for more && s.posted-s.sent < s.depth && s.posted-s.received < 2*s.depth {
		if err := s.post(); err != nil {
			return err
		}
	}
	if err := s.pollSent(); err != nil {
		return err
	}
	return s.pollReceived()
}

// patience is how long a stream may take to do what a test asks for.
const patience = 30 * time.Second

// runWhile moves messages while the condition holds, and then those under way.
func (s *stream) runWhile(more func() bool) error {
	deadline := time.Now().Add(patience)
	s.lastSent, s.lastStep = -1, time.Now()
	for {
		wanted := more()
		if !wanted && s.received == s.posted && s.sent == s.posted {
			return nil
		}
		if err := s.step(wanted); err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("stuck: %d posted, %d sent, %d received; a %+v; b %+v",
				s.posted, s.sent, s.received, s.a.qp.Stats(), s.b.qp.Stats())
		}
	}
}

// run moves n more messages.
func (s *stream) run(n int) {
	s.a.t.Helper()
	goal := s.posted + n
	noError(s.a.t, s.runWhile(func() bool { return s.posted < goal }))
}

// runUntil moves messages until a condition holds, and at least for a while.
func (s *stream) runUntil(what string, d time.Duration, holds func() bool) {
	s.a.t.Helper()
	s.runFor(d)
	for deadline := time.Now().Add(patience); !holds(); s.run(s.depth) {
		if time.Now().After(deadline) {
			s.a.t.Fatalf("not within %v: %s; %+v", patience, what, s.a.qp.Stats())
		}
	}
}

// runFor moves messages for a while.
func (s *stream) runFor(d time.Duration) {
	s.a.t.Helper()
	deadline := time.Now().Add(d)
	noError(s.a.t, s.runWhile(func() bool { return time.Now().Before(deadline) }))
}

// background moves messages in a goroutine of its own until the answered
// function is called, which reports how it went. Traffic flows when it returns,
// and flows on for a while when it is told to stop.
func (s *stream) background() (stop func()) {
	const some = 20
	quit, flows, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	started, begin, last := flows, s.received+some, -1
	go func() {
		done <- s.runWhile(func() bool {
			if s.received >= begin && flows != nil {
				close(flows)
				flows = nil
			}
			select {
			case <-quit:
				if last < 0 {
					last = s.received + some
				}
				return s.received < last
			default:
				return true
			}
		})
	}()
	select {
	case <-started:
	case err := <-done:
		s.a.t.Fatalf("the traffic ended before it began: %v", err)
	}
	return func() {
		s.a.t.Helper()
		close(quit)
		noError(s.a.t, <-done)
	}
}

// eventually waits until a condition holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
		time.Sleep(100 * time.Microsecond)
	}
}

// engineOf is the engine under a device.
func engineOf(d *verbs.Device) *engine { return d.Engine().(*engine) }

func statsOf(t testing.TB, d *verbs.Device) Stats {
	t.Helper()
	s, ok := StatsOf(d)
	if !ok {
		t.Fatal("no statistics")
	}
	return s
}
