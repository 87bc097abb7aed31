package braid

import (
	"context"
	"sync/atomic"
	"testing"
	"time"
)

// What waits for memory is fetched when a handler has got what had it, though the handler goes on.
func TestHandlerMakesRoom(t *testing.T) {
	l := listen(t, open(t, Config{Memory: 1 << 20, Linger: -1}))
	_, other := dialled(t, open(t, Config{Linger: -1}), l)
	a, b := dialled(t, open(t, Config{Linger: -1}), l)
	for range 2 {
		go func() { _, _ = other.Receive(soon(t)) }() // so that handlers have goroutines of their own
	}
	attendance := &b.context.attendance
	eventually(t, "two wait", func() bool { return attendance.present.Load() == 2 && attendance.asleep.Load() })
	for range 2 {
		go func() { _ = a.Send(soon(t), make([]byte, 1<<20)) }()
	}
	eventually(t, "the second message waits", func() (starved bool) {
		b.context.exclusive(func() { starved = b.starved })
		return starved
	})
	both, handled := make(chan struct{}), atomic.Int32{}
	servedBy(context.Background(), t, b, func(ctx context.Context, _ *Msg) ([]byte, error) {
		if handled.Add(1) == 2 {
			close(both)
		}
		select {
		case <-both:
		case <-ctx.Done():
		}
		return nil, nil
	})
	select {
	case <-both:
	case <-time.After(3 * time.Second): // unused memory is looked for after five
		t.Error("the second message is not fetched while the handler has the first")
	}
}

// satisfied is the wait for what has come.
type satisfied struct{}

func (satisfied) Ready() bool   { return true }
func (satisfied) arrived() bool { return true }

// What a leader has put off is done when it has left, whatever its last turn was about.
func TestPutOffIsDone(t *testing.T) {
	c := open(t, Config{})
	for range 20 {
		c.attendance.present.Add(1)
		if !c.attendance.enlist() {
			t.Fatal("somebody leads")
		}
		job := functions.New().(*function)
		job.f = func() {}
		c.inbox.push(&job.task)
		if err := c.lead(t.Context(), satisfied{}, false); err != nil {
			t.Fatal(err)
		}
		c.leave()
		c.attendance.present.Add(-1)
		for began := time.Now(); c.putOff.Load(); time.Sleep(time.Millisecond) {
			if time.Since(began) > 5*time.Second {
				t.Fatal("it is put off without end")
			}
		}
	}
}

// A turn whose time was read before is not earlier than what it finds was asked for.
func TestNotBeforeItWasAskedFor(t *testing.T) {
	a, b := pair(t, Config{Trace: TraceReqRsp})
	c := a.context
	for range 20 {
		read := c.now()
		o, err := a.beginOneway(t.Context(), []byte("x"))
		if err != nil {
			t.Fatal(err)
		}
		o.users.Add(1) // the test
		prepared := o.traced.last
		c.inbox.push(&o.task)
		c.turns(nil, read)
		o.wait(t.Context())
		if o.SentAt < prepared {
			t.Errorf("it was posted %v before it was ready", prepared-o.SentAt)
		}
		o.drop()
		o.drop()
		m, err := b.Receive(soon(t))
		if err != nil {
			t.Fatal(err)
		}
		m.Release()
	}
}

// A trace ends when the acknowledgement has come, and not when the program next has time for it. On a busy machine another
// frame than the response may acknowledge, later, and who has time at once is not found: half of the times count.
func TestTraceEndsWithTheAcknowledgement(t *testing.T) {
	a, b := pair(t, Config{Trace: TraceBare})
	c := a.context
	servedBy(context.Background(), t, b, echo)
	const messages = 3 // of which the response tells, since they are more than calls
	const times = 10
	onTime := 0
	for range times {
		begun := c.tracer.wall(c.now())
		for range messages {
			if err := a.Send(soon(t), []byte("x")); err != nil {
				t.Fatal(err)
			}
		}
		m, err := a.Call(soon(t), []byte("y"))
		if err != nil {
			t.Fatal(err)
		}
		returned := c.tracer.wall(c.now())
		m.Release()
		var late time.Duration
		eventually(t, "the traces are there", func() bool {
			ended := 0
			for _, tr := range c.Traces() {
				if tr.Role == RoleSender && !tr.Start.Before(begun) {
					ended++
					late = max(late, tr.Start.Add(tr.Total).Sub(returned))
				}
			}
			return ended == messages
		})
		if late == 0 {
			onTime++
		}
	}
	if onTime < times/2 {
		t.Errorf("in %d of %d times a trace ends after the response has told of its message", times-onTime, times)
	}
}
