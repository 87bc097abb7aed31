package netconn

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braid-rdma/braid"
)

// A wait ends when the deadline is, wherever it has been moved to meanwhile.
func TestDeadlineMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDeadline()
		ctx, err := d.wait()
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		for _, later := range []time.Duration{time.Hour, time.Minute, 3 * time.Minute} {
			if err := d.set(start.Add(later)); err != nil {
				t.Fatal(err)
			}
		}
		<-ctx.Done()
		if took := time.Since(start); took != 3*time.Minute {
			t.Errorf("the wait took %v", took)
		}
		if _, err := d.wait(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("after the deadline: %v", err)
		}

		if err := d.set(time.Time{}); err != nil {
			t.Fatal(err)
		}
		if ctx, err = d.wait(); err != nil || ctx.Err() != nil {
			t.Fatalf("without a deadline: %v, %v", err, ctx.Err())
		}
		time.Sleep(24 * time.Hour)
		if ctx.Err() != nil {
			t.Error("the wait has ended without a deadline")
		}
		d.set(time.Now())
		if ctx.Err() == nil {
			t.Error("a deadline that is now ends no wait")
		}
		d.close()
		if err := d.set(time.Time{}); !errors.Is(err, net.ErrClosed) {
			t.Errorf("set after close: %v", err)
		}
		if _, err := d.wait(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("wait after close: %v", err)
		}
	})
}

// Who dials for too long is told so as package net tells it, and who is interrupted is not.
func TestDialTimesOut(t *testing.T) {
	c := open(t, braid.Config{})
	late, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	interrupted, interrupt := context.WithCancel(t.Context())
	interrupt()
	for ctx, want := range map[context.Context]bool{late: true, interrupted: false} {
		_, err := Dialer{c}.DialContext(ctx, "tcp", "127.1.2.3:4") // where nobody is
		if e := net.Error(nil); !errors.As(err, &e) || e.Timeout() != want {
			t.Errorf("%v: it is a timeout: %v, want %v", err, !want, want)
		}
		if !errors.Is(err, ctx.Err()) {
			t.Errorf("%v, want %v", err, ctx.Err())
		}
	}
}
