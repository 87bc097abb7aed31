package braid

import (
	"runtime"
	"testing"
	"time"

	"github.com/braid-rdma/braid/verbs"
)

// noted is an operation that tells when its completion was handled.
type noted chan struct{}

func (n noted) completed(*Context, *verbs.Completion) { close(n) }

// A completion that another thread brings, here because it posts to a queue pair that has failed,
// wakes the goroutine that sleeps for all.
func TestCompletionWakesLeader(t *testing.T) {
	a, _ := pair(t, Config{Keepalive: -1})
	go a.Receive(soon(t)) // until the test ends
	c := a.context
	qp, err := c.pd.CreateQP(verbs.QPOptions{Type: verbs.RC, SendCQ: c.cq})
	if err != nil {
		t.Fatal(err)
	}
	if err := qp.Modify(verbs.Err, nil); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		for !c.attendance.asleep.Load() {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Millisecond) // it polls for a while before the kernel puts it to sleep
		done := make(noted)
		var number uint32
		c.exclusive(func() { number = c.operations.add(done) })
		if err := qp.PostRecv(&verbs.RecvWR{ID: workOperation | uint64(number)}); err != nil {
			t.Fatal(err)
		}
		select {
		case <-done:
		case <-time.After(2 * time.Minute):
			t.Fatal("the completion is handled by nobody")
		}
	}
}

// Who stands in is told of a completion once. If it comes at the end of another's turn, there is
// another turn.
func TestCompletionAtTheEndOfATurn(t *testing.T) {
	c := open(t, Config{})
	for !c.owned.CompareAndSwap(false, true) {
		runtime.Gosched()
	}
	c.overlooked.Store(false) // the turn
	c.standIn()
	if !c.disown() {
		t.Error("the turn was the last one")
	}
}

// A context can be closed while a channel is being connected.
func TestCloseWhileConnecting(t *testing.T) {
	c := open(t, Config{})
	ch, _, err := c.add()
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan struct{})
	go func() {
		c.Close()
		close(closed)
	}()
	<-ch.Done()
	ch.abandon(ErrUnreachable)
	<-closed
}
