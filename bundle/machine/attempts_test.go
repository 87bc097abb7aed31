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
