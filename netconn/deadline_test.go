package netconn

import (
	"errors"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
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
