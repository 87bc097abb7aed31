package braid

import (
	"context"
	"strings"
	"testing"
	"time"
)

// sleepyHandler keeps whoever runs it, until somebody has looked what it does.
func sleepyHandler(_ context.Context, m *Msg) ([]byte, error) {
	for range 100 {
		time.Sleep(50 * time.Millisecond)
		if m.channel.context.tracer.polls.sample.Load() != nil {
			break
		}
	}
	return nil, nil
}

// awaitLeader waits until a goroutine polls for all.
func awaitLeader(c *Context) {
	for !c.attendance.asleep.Load() {
		time.Sleep(time.Millisecond)
	}
}

// A handler that takes too long is told with its name: as a phase of the message, and because
// nobody polled the device meanwhile.
func TestSlowHandlerIsNamed(t *testing.T) {
	a, b, _ := tracedPair(t, Config{SlowThreshold: 5 * time.Millisecond}, Config{SlowThreshold: 5 * time.Millisecond, PollingWarn: 5 * time.Millisecond})
	events := make(chan *Slow, 10)
	b.context.SetTraceHooks(TraceHooks{Slow: func(s *Slow) { events <- s }})
	serveOn(t, b, sleepyHandler)
	awaitLeader(b.context)
	m, tr, err := a.TraceCall(soon(t), []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	m.Release()
	var handler, poll *Slow
	for handler == nil || poll == nil {
		switch s := <-events; s.Phase {
		case PhaseHandler:
			handler = s
		case PhasePoll:
			poll = s
		default: // a busy machine is slow in other ways too
		}
	}
	for _, s := range []*Slow{handler, poll} {
		t.Log(s)
		if !strings.Contains(s.Place, "sleepyHandler") || !strings.Contains(s.Place, "slow_test.go:") || s.Took < 50*time.Millisecond {
			t.Errorf("slow %v: %v in %q", s.Phase, s.Took, s.Place)
		}
	}
	if handler.Trace == nil || handler.Trace.Number != tr.Number || poll.Remote != b.RemoteAddr() {
		t.Errorf("%+v, %+v", handler, poll)
	}
	if !strings.Contains(poll.Stack, "braid.sleepyHandler") {
		t.Errorf("the stack of the handler: %q", poll.Stack)
	}
	// The caller knows that it was the peer.
	var there *Slow
	for _, s := range a.context.SlowEvents() {
		if s.Phase == PhaseHandler {
			there = s
		}
	}
	if there == nil || !strings.Contains(there.Place, "the peer "+a.RemoteAddr().String()) || there.Took != handler.Took {
		t.Errorf("at the caller: %v", there)
	}
}

// With a negative threshold no phase is slow.
func TestSlowThresholdOff(t *testing.T) {
	a, b, done := tracedPair(t, Config{SlowThreshold: -1}, Config{SlowThreshold: 1})
	serveOn(t, b, echo)
	m, _, err := a.TraceCall(soon(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	m.Release()
	if got := a.context.SlowEvents(); len(got) > 0 {
		t.Errorf("told: %v", got[0])
	}
	<-done
	b.context.exclusive(func() {}) // the events come with the trace
	if len(b.context.SlowEvents()) == 0 {
		t.Error("a threshold of a nanosecond, and nothing is slow")
	}
}

// Work of the context that is no handler's is told as well, and what is quick is not.
func TestSlowTurn(t *testing.T) {
	a, b, _ := tracedPair(t, Config{}, Config{})
	events := make(chan *Slow, 10)
	b.context.SetTraceHooks(TraceHooks{Slow: func(s *Slow) { events <- s }})
	if err := b.context.Set("polling_warn", "30s"); err != nil {
		t.Fatal(err)
	}
	if err := b.context.SetFilter(&Filter{Match: func(m *Msg) bool {
		if m.Bytes()[0] == 's' {
			time.Sleep(20 * time.Millisecond)
		}
		return false
	}}); err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	receive := func() {
		m, err := b.Receive(soon(t))
		if err == nil {
			m.Release()
		}
		got <- err
	}
	say := func(text string) {
		t.Helper()
		// Only a goroutine that has the leader's place is measured.
		go receive()
		awaitLeader(b.context)
		if err := a.Send(soon(t), []byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := <-got; err != nil {
			t.Fatal(err)
		}
	}
	say("quick")
	if len(events) > 0 {
		t.Errorf("told without reason: %v", <-events)
	}
	if err := b.context.Set("polling_warn", "10ms"); err != nil {
		t.Fatal(err)
	}
	var s *Slow
	for s == nil {
		say("slow")
		select {
		case s = <-events:
		case <-time.After(time.Second): // the turn was that of a timer's goroutine, which polls for nobody
		}
	}
	t.Log(s)
	if s.Phase != PhasePoll || s.Took < 20*time.Millisecond || s.Place != "the work of the context" || s.Trace != nil {
		t.Errorf("%+v", s)
	}
}
