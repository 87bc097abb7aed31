package udp

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// TestPollerThatStops has b poll exactly until it has its message and then never
// again: what the last round left unsent, the acknowledgement, must go out all
// the same, although nothing asks for it again.
func TestPollerThatStops(t *testing.T) {
	for _, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
		t.Run(kind.String(), func(t *testing.T) {
			a, b := connect(t, Config{Paths: 2}, patientOptions(kind), 1<<16)
			for range 200 {
				b.sleeps()
				noError(t, b.qp.PostRecv(&verbs.RecvWR{SGEs: []verbs.SGE{b.mr.SGE(0, 64)}}))
				noError(t, a.qp.PostSend(&verbs.SendWR{Op: verbs.OpSend, Flags: verbs.Signaled, SGEs: []verbs.SGE{a.mr.SGE(0, 64)}}))
				var out [1]verbs.Completion
				for n := 0; n == 0; n, _ = b.cq.Poll(out[:]) {
				}
				a.wait()
			}
		})
	}
}

// TestPostAndLeave posts more than one turn of the loop sends, and looks at
// neither end's queue: the threads of the devices must do it all.
func TestPostAndLeave(t *testing.T) {
	for _, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
		t.Run(kind.String(), func(t *testing.T) {
			const size = 4 << 20
			a, b := connect(t, Config{Paths: 4}, patientOptions(kind), size)
			for round := byte(1); round <= 5; round++ {
				a.mr.Bytes()[size-1] = round
				a.sleeps()
				b.sleeps()
				noError(t, a.qp.PostSend(&verbs.SendWR{
					Op: verbs.OpWrite, SGEs: []verbs.SGE{a.mr.SGE(0, size)}, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey(),
				}))
				eventually(t, "the last byte arrives", func() bool {
					var last [1]byte
					noError(t, b.mr.Load(size-1, last[:]))
					return last[0] == round
				})
				// Each slot is free again only when the peer has acknowledged.
				eventually(t, "the write is acknowledged", func() bool { return a.qp.Query().Flow.InFlight == 0 })
			}
		})
	}
}

// TestWaitEndsBesideBusyQueuePairs waits with a deadline on a queue to which nothing
// comes, while the same device receives for another queue pair without a pause.
func TestWaitEndsBesideBusyQueuePairs(t *testing.T) {
	// After short messages so long a spin leaves no round in which the loop would go to sleep.
	a, b := connect(t, Config{Paths: 2, Spin: time.Minute}, verbs.QPOptions{Type: verbs.MP}, 1<<20)
	idle, err := b.dev.CreateCQ(1)
	noError(t, err)
	stop := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			noError(t, a.qp.PostSend(&verbs.SendWR{
				Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: []verbs.SGE{a.mr.SGE(0, 64)}, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey(),
			}))
			a.wait()
		}
	})
	defer writer.Wait()
	defer close(stop)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := idle.Wait(ctx, make([]verbs.Completion, 1))
		ended <- err
	}()
	select {
	case err := <-ended:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Wait: %v, want the end of its context", err)
		}
	case <-time.After(patience):
		t.Errorf("Wait outlives its context by %v", patience)
		idle.Close() // or the test would never end
		<-ended
	}
}

// TestIdleCostsNothing: with nothing to do no thread of a device wakes, whether a program waits or not.
func TestIdleCostsNothing(t *testing.T) {
	a, b := connect(t, Config{Paths: 2, Loopback: true}, verbs.QPOptions{Type: verbs.MP}, 1<<20)
	noError(t, a.qp.PostSend(&verbs.SendWR{
		Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: []verbs.SGE{a.mr.SGE(0, 1<<20)}, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey(),
	}))
	a.wait()
	ctx, cancel := context.WithCancel(t.Context())
	var waiter sync.WaitGroup
	waiter.Go(func() { _, _ = a.cq.Wait(ctx, make([]verbs.Completion, 1)) })
	defer waiter.Wait()
	defer cancel()
	rounds := func() (sum uint64) {
		for _, s := range []*end{a, b} {
			e := engineOf(s.dev)
			e.mu.Lock() // not e.Lock, whose Unlock may wake somebody
			sum += e.rounds
			e.mu.Unlock()
		}
		return sum
	}
	e := engineOf(a.dev)
	eventually(t, "the thread that waits sleeps, and the other has left the device to it", func() bool {
		return e.blocked[sleeperApp].Load() && e.retired.Load()
	})
	last, now := uint64(0), rounds()
	for range 20 { // timers of the transfer may be due yet
		time.Sleep(500 * time.Millisecond)
		if last, now = now, rounds(); now == last {
			return
		}
	}
	t.Errorf("%d rounds in half a second", now-last)
}

// flag is a condition that a test sets.
type flag struct{ set atomic.Bool }

func (f *flag) Ready() bool { return f.set.Load() }

// TestWakeIsNotLost races Wake against threads on their way into the wait.
func TestWakeIsNotLost(t *testing.T) {
	dev, err := Open(Config{Paths: 1, Spin: -1})
	noError(t, err)
	defer dev.Close()
	e := engineOf(dev)
	rounds := 3000
	if testing.Short() {
		rounds = 500
	}
	for i := range rounds {
		var f flag
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
				defer cancel()
				if err := e.WaitProgress(ctx, &f); err != nil {
					t.Errorf("round %d: %v", i, err)
				}
			})
		}
		for range i % 50 {
			runtime.Gosched()
		}
		f.set.Store(true)
		e.Wake()
		group.Wait()
		if t.Failed() {
			return
		}
	}
}

// TestWaitEndsWithContext cancels waits before, while and after they block.
func TestWaitEndsWithContext(t *testing.T) {
	dev, err := Open(Config{Paths: 1})
	noError(t, err)
	defer dev.Close()
	e := engineOf(dev)
	var never flag
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := e.WaitProgress(ended, &never); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
	start := time.Now()
	deadline, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := e.WaitProgress(deadline, &never); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a deadline: %v", err)
	}
	if d := time.Since(start); d < 20*time.Millisecond || d > patience {
		t.Errorf("the deadline of 20 ms took %v", d)
	}
	for i := range 300 {
		ctx, cancel := context.WithCancel(context.Background())
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				if err := e.WaitProgress(ctx, &never); !errors.Is(err, context.Canceled) {
					t.Errorf("round %d: %v", i, err)
				}
			})
		}
		time.Sleep(time.Duration(i) * time.Microsecond)
		cancel()
		group.Wait()
	}
}

// TestSeveralThreadsWait has many threads wait on queues of one device while
// messages come for all of them. Each queue's message must reach its thread,
// whichever thread runs the loop.
func TestSeveralThreadsWait(t *testing.T) {
	const threads = 8
	rounds := 200
	if testing.Short() {
		rounds = 50
	}
	a, b := connect(t, Config{Paths: 2}, verbs.QPOptions{Type: verbs.MP}, 1<<16)
	var group sync.WaitGroup
	for range threads {
		x, y := secondEnd(t, a, verbs.QPOptions{Type: verbs.MP}, 4096), secondEnd(t, b, verbs.QPOptions{Type: verbs.MP}, 4096)
		join(t, x, y)
		for _, side := range []struct{ me, serves bool }{{true, false}, {false, true}} {
			s, first := y, side.serves
			if side.me {
				s = x
			}
			noError(t, s.qp.PostRecv(&verbs.RecvWR{SGEs: []verbs.SGE{s.mr.SGE(0, 64)}}))
			group.Go(func() { pingPong(s, first, rounds) })
		}
	}
	group.Wait()
}

// pingPong sends and receives by turns, blocking in Wait each time.
func pingPong(s *end, first bool, rounds int) {
	ping := verbs.SendWR{Op: verbs.OpSend, Inline: []byte("ping")}
	for range rounds {
		if first {
			if err := s.qp.PostSend(&ping); err != nil {
				s.t.Error(err)
				return
			}
		}
		c, err := s.outcome(20 * time.Second)
		if err == nil {
			err = c.Err()
		}
		if err == nil {
			err = s.qp.PostRecv(&verbs.RecvWR{SGEs: []verbs.SGE{s.mr.SGE(0, 64)}})
		}
		if err == nil && !first {
			err = s.qp.PostSend(&ping)
		}
		if err != nil {
			s.t.Error(err)
			return
		}
	}
}

// TestCloseAgainstEverything closes a device while threads post, poll, wait,
// wake, cut paths and read statistics.
func TestCloseAgainstEverything(t *testing.T) {
	rounds := 60
	if testing.Short() {
		rounds = 20
	}
	for range rounds {
		a, b := connect(t, Config{Paths: 2}, verbs.QPOptions{Type: verbs.MP}, 1<<20)
		var group sync.WaitGroup
		stop := make(chan struct{})
		run := func(f func()) {
			group.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						f()
					}
				}
			})
		}
		run(func() {
			_ = a.qp.PostSend(&verbs.SendWR{Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: []verbs.SGE{a.mr.SGE(0, 1<<20)}, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey()})
			var out [4]verbs.Completion
			_, _ = a.cq.Poll(out[:])
		})
		run(func() { _, _ = a.outcome(100 * time.Microsecond) })
		run(func() { _, _ = b.outcome(time.Second) })
		run(func() {
			engineOf(a.dev).Wake()
			StatsOf(a.dev)
			FaultsOf(a.dev).SetLoss(1, 0.5)
			FaultsOf(a.dev).Restore(1)
			time.Sleep(50 * time.Microsecond)
		})
		time.Sleep(2 * time.Millisecond)
		group.Go(func() { noError(t, a.dev.Close()) })
		group.Go(func() { noError(t, a.dev.Close()) })
		noError(t, b.dev.Close())
		time.Sleep(time.Millisecond)
		close(stop)
		group.Wait()
		if err := a.qp.PostSend(&verbs.SendWR{Op: verbs.OpSend}); !errors.Is(err, verbs.ErrClosed) {
			t.Fatalf("a post after the end: %v", err)
		}
		if engineOf(a.dev).Progress() {
			t.Fatal("a closed engine makes progress")
		}
	}
}

// TestDistantTimerWakesNobody arms a timer behind the longest sleep, which needs no wake, and one before it.
func TestDistantTimerWakesNobody(t *testing.T) {
	dev, err := Open(Config{Loopback: true, Paths: 1, Loops: 1})
	noError(t, err)
	defer dev.Close()
	e, p := engineOf(dev), &port{index: -1}
	eventually(t, "the device's thread sleeps", func() bool {
		e.mu.Lock()
		if e.sleepers[sleeperBackground] == 0 {
			e.mu.Unlock()
			return false
		}
		return true // and cannot wake before the lock is given back
	})
	defer e.mu.Unlock()
	defer e.timers.remove(p)
	for _, distant := range []bool{true, false} {
		after := longestSleep / 2
		if distant {
			after = 2 * longestSleep
		}
		e.timers.set(p, e.Now()+after)
		e.rouse()
		if sleeps := e.sleepers[sleeperBackground] != 0; sleeps != distant {
			t.Errorf("a timer in %d ms: the thread sleeps on: %v, want %v", after/transport.Millisecond, sleeps, distant)
		}
	}
}

// TestTimerWakesSleeper arms a timer earlier than the one that the sleeping
// thread knows of.
func TestTimerWakesSleeper(t *testing.T) {
	a, b := connect(t, Config{Paths: 1}, verbs.QPOptions{Type: verbs.RC, Conn: verbs.ConnOptions{AckTimeout: 4 * time.Millisecond, RetryCount: 1}}, 4096)
	noError(t, b.dev.Close())
	a.sleeps()
	noError(t, a.qp.PostSend(&verbs.SendWR{Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: []verbs.SGE{a.mr.SGE(0, 8)}, RemoteAddr: 4096, RKey: 1}))
	start := time.Now()
	for len(a.dev.Events()) == 0 && a.qp.State() != verbs.Err { // asks nothing of the loop
		if time.Since(start) > patience {
			t.Fatal("the timeout never came")
		}
		time.Sleep(time.Millisecond)
	}
	if c, err := a.outcome(patience); err != nil || c.Status != transport.RetryExcErr {
		t.Errorf("%+v, %v", c, err)
	}
}
