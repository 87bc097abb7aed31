package machine

import (
	"errors"
	"testing"
)

// TestWorkIsPolledToTheEnd: when PollWork says that there is none, there is none, also when
// what it came across was not worth repeating.
func TestWorkIsPolledToTheEnd(t *testing.T) {
	m := New(Config{Lanes: 2, Chunk: 10, Depth: 1, Balancer: RoundRobin()})
	m.HandleUp(0)
	m.HandleUp(1)
	m.Post(Send, 20)
	if _, err := m.HandleHeader(&Header{Kind: HeaderAnnounce, Target: Target{Length: 20}}, 0); err != nil {
		t.Fatal(err)
	}
	first, _ := m.PollWork(1)
	second, _ := m.PollWork(1)
	m.HandleDone(2, first.Tag, PathLost, nil)
	m.HandleFenced(first.Lane)
	m.HandleDone(2, second.Tag, Refused, errors.New("refused"))
	w, ok := m.PollWork(3)
	if !ok || w.Kind != Message || w.Header.Kind != HeaderFailed {
		t.Errorf("got %+v, %v, want the message of the failure", w, ok)
	}
}

// TestFaultOfOurSide: a WRITE that this side ends in the middle has packets under way. So
// neither the program is told that it is done nor the receiver that its memory is free, before
// the peer has closed its end.
func TestFaultOfOurSide(t *testing.T) {
	cause := errors.New("deregistered")
	for _, op := range []Op{Write, Send} {
		m := New(Config{Lanes: 2, Chunk: 10, Depth: 1, Balancer: RoundRobin()})
		m.HandleUp(0)
		m.HandleUp(1)
		m.Post(op, 10)
		if _, err := m.HandleHeader(&Header{Kind: HeaderAnnounce, Target: Target{Length: 10}}, 0); err != nil {
			t.Fatal(err)
		}
		w, _ := m.PollWork(1)
		m.HandleDone(2, w.Tag, Faulty, cause)
		m.HandleDown(w.Lane)
		if _, ok := m.PollCompletion(); ok {
			t.Errorf("operation %d is done while its packets are under way", op)
		}
		if told, ok := m.PollWork(3); ok {
			t.Errorf("operation %d: %+v while its packets are under way", op, told)
		}
		m.HandleFenced(w.Lane)
		if op == Send {
			told, ok := m.PollWork(4)
			if !ok || told.Header.Kind != HeaderFailed {
				t.Fatalf("got %+v, %v, want the message of the failure", told, ok)
			}
			m.HandleDone(5, told.Tag, OK, nil)
		}
		if c, ok := m.PollCompletion(); !ok || !errors.Is(c.Err, cause) {
			t.Errorf("operation %d: completion %+v, %v, want the cause", op, c, ok)
		}
	}
}

// TestOwnErrorAtTheEnd: a request that has failed by its own fault says so also if the
// connection ends before its turn.
func TestOwnErrorAtTheEnd(t *testing.T) {
	m := New(Config{Lanes: 1, Chunk: 10, Depth: 2, Balancer: RoundRobin()})
	m.HandleUp(0)
	m.Post(Write, 10)
	m.Post(Write, 10)
	m.PollWork(1)
	second, _ := m.PollWork(1)
	own, end := errors.New("refused"), errors.New("closed")
	m.HandleDone(2, second.Tag, Refused, own)
	m.Fail(end)
	for i, want := range []error{end, own} {
		if c, ok := m.PollCompletion(); !ok || !errors.Is(c.Err, want) {
			t.Errorf("request %d: completion %+v, %v, want %v", i, c, ok, want)
		}
	}
}
