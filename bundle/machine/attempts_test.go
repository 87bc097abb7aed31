package machine

import (
	"errors"
	"testing"
)

// TestAttempts: a sub-request that breaks queue pair after queue pair fails its request,
// and what comes behind it goes on.
func TestAttempts(t *testing.T) {
	m := New(Config{Lanes: 1, Chunk: 10, Depth: 1, Balancer: RoundRobin()})
	m.HandleUp(0)
	m.Post(Write, 10)
	m.Post(Write, 10)
	cause := errors.New("poison")
	for attempt := range maxAttempts {
		w, ok := m.PollWork(1)
		if !ok || w.Request != 0 {
			t.Fatalf("attempt %d: %+v, %v", attempt, w, ok)
		}
		if _, ok := m.PollCompletion(); ok {
			t.Fatalf("attempt %d: done", attempt)
		}
		m.HandleDone(2, w.Tag, PathLost, cause)
		m.HandleDown(0)
		m.HandleUp(0)
	}
	if c, ok := m.PollCompletion(); !ok || c.Number != 0 || !errors.Is(c.Err, cause) {
		t.Errorf("completion %+v, %v, want the failure", c, ok)
	}
	w, ok := m.PollWork(3)
	if !ok || w.Request != 1 {
		t.Fatalf("next is %+v, %v", w, ok)
	}
	m.HandleDone(4, w.Tag, OK, nil)
	if c, ok := m.PollCompletion(); !ok || c.Number != 1 || c.Err != nil {
		t.Errorf("completion %+v, %v", c, ok)
	}
}

// TestAttemptsOfOthers: requests that are refused break queue pair after queue pair; the one
// behind them, which each of these has flushed, is not at fault.
func TestAttemptsOfOthers(t *testing.T) {
	const refused = maxAttempts + 8
	m := New(Config{Lanes: 1, Chunk: 10, Depth: 2 * refused, Balancer: LeastOutstanding()})
	for range refused + 1 {
		m.Post(Write, 10)
	}
	cause := errors.New("refused")
	for range refused + 1 {
		m.HandleUp(0)
		var posted []Work
		for w, ok := m.PollWork(1); ok; w, ok = m.PollWork(1) {
			posted = append(posted, w)
		}
		outcome := Refused // of the oldest; what is behind it is flushed
		if len(posted) == 1 {
			outcome = OK
		}
		for _, w := range posted {
			m.HandleDone(2, w.Tag, outcome, cause)
			outcome = PathLost
		}
		m.HandleDown(0)
	}
	for n := range Number(refused + 1) {
		c, ok := m.PollCompletion()
		if !ok || c.Number != n || n < refused && !errors.Is(c.Err, cause) || n == refused && c.Err != nil {
			t.Fatalf("completion %+v, %v; %d are refused", c, ok, refused)
		}
	}
}
