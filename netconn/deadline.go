package netconn

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// deadline ends the waits of one direction of a connection: when its time comes, and when
// the connection is closed. A wait that is under way notices when it is moved.
type deadline struct {
	mu     sync.Mutex
	ctx    context.Context // of those who wait
	cancel context.CancelFunc
	at     time.Time // zero: none
	timer  *time.Timer
	err    error // why ctx has ended
}

func newDeadline() *deadline {
	d := &deadline{}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	return d
}

// wait returns the context to wait with, or why there is nothing to wait for.
func (d *deadline) wait() (context.Context, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ctx, d.err
}

// set moves the deadline. It returns net.ErrClosed after close.
func (d *deadline) set(t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case errors.Is(d.err, net.ErrClosed):
		return d.err
	case d.err != nil: // those who waited have been woken
		d.err = nil
		d.ctx, d.cancel = context.WithCancel(context.Background())
	}
	if d.timer != nil {
		d.timer.Stop() // an expiry that it cannot stop looks at the time again
	}
	if d.at = t; !t.IsZero() {
		d.arm()
	}
	return nil
}

// arm ends the waits if it is time, or has that done later.
func (d *deadline) arm() {
	left := time.Until(d.at)
	switch {
	case left <= 0:
		d.end(os.ErrDeadlineExceeded)
	case d.timer == nil:
		d.timer = time.AfterFunc(left, d.expire)
	default:
		d.timer.Reset(left)
	}
}

// expire is the goroutine of the timer.
func (d *deadline) expire() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.at.IsZero() && d.err == nil {
		d.arm()
	}
}

func (d *deadline) end(err error) {
	d.err = err
	d.cancel()
}

// close ends all waits for good.
func (d *deadline) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
	}
	d.end(net.ErrClosed)
}
