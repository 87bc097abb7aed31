package sched

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// The runtime of Go itself; that of an engine with virtual time is tested in package sim.

func TestSelect(t *testing.T) {
	var r Runtime
	closed, empty := make(chan struct{}), make(chan struct{})
	close(closed)
	if got := r.Select(t.Context(), empty, nil, closed); got != 2 {
		t.Errorf("the third of three channels is closed, got %d", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := r.Select(ctx, empty); got != Ended {
		t.Errorf("the context has ended, got %d", got)
	}
}

func TestReceive(t *testing.T) {
	var r Runtime
	values, end := make(chan int, 1), make(chan struct{})
	values <- 7
	if v, ok := Receive(t.Context(), r, values, end); v != 7 || !ok {
		t.Errorf("received %d, %v", v, ok)
	}
	close(end)
	if v, ok := Receive(t.Context(), r, values, end); ok {
		t.Errorf("received %d after the end", v)
	}
}

func TestTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r Runtime
		if r.Virtual() {
			t.Error("Go's own time is virtual")
		}
		began, fired := time.Now(), make(chan time.Duration, 2)
		timer := r.NewTimer(func() { fired <- time.Since(began) })
		timer.Reset(time.Second)
		timer.Reset(3 * time.Second)
		ctx, cancel := r.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		<-ctx.Done()
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			t.Error(ctx.Err())
		}
		if at := <-fired; at != 3*time.Second || len(fired) > 0 {
			t.Errorf("a timer that was set again fired at %v, and %d times more", at, len(fired))
		}
		timer.Reset(time.Second)
		timer.Stop()
		time.Sleep(2 * time.Second)
		if len(fired) > 0 {
			t.Error("a timer that was stopped fired")
		}
	})
}

func TestGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Group
		done := make(chan struct{})
		g.Go(func() {
			time.Sleep(time.Second)
			close(done)
		})
		g.Wait()
		select {
		case <-done:
		default:
			t.Error("a goroutine is left")
		}
		g.Runtime.Go(func() {})
	})
}
