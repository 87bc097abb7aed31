package braid

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"
)

// Small messages that come while large ones are read make what is on its way short, for a while.
func TestFetchLimits(t *testing.T) {
	cfg, err := Config{}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	c := &Context{cfg: cfg, at: time.Second}
	q := &c.bulk
	want := func(why string, all, one int) {
		t.Helper()
		if a, o := q.limits(c); a != all*cfg.Fragment || o != one*cfg.Fragment {
			t.Errorf("%s: %d bytes, %d at once; want %d and %d fragments", why, a, o, all, one)
		}
	}
	want("nothing small has come", cfg.Fragments, fragmentsPerRead)
	q.small(c.at)
	want("it came when nothing was read", cfg.Fragments, fragmentsPerRead)
	q.outstanding = 1
	q.small(c.at)
	want("it came beside a READ", cfg.FragmentsBeside, 1)
	c.at += smallTime
	want("it is long ago", cfg.Fragments, fragmentsPerRead)
}

// What is short, or shorter, does not wait for the end of what is long, whatever the two are and on whichever of two channels.
func TestLongOnesTakeTurns(t *testing.T) {
	const long, shorter = 128 << 20, 1 << 20
	l := listen(t, open(t, Config{}))
	c := open(t, Config{})
	a, b := dialled(t, c, l)
	a2, b2 := dialled(t, c, l)
	_, r := remote(t, b, a, long, CanRead|CanWrite)
	for _, end := range []*Channel{b, b2} {
		go func() {
			for {
				m, err := end.Receive(context.Background())
				if err != nil {
					return
				}
				m.Release()
			}
		}()
	}
	data := make([]byte, long)
	send := func(ch *Channel, n int) error { return ch.Send(t.Context(), data[:n]) }
	write := func(ch *Channel, n int) error { return ch.Write(t.Context(), data[:n], r) }
	read := func(ch *Channel, n int) error { return ch.Read(t.Context(), make([]byte, n), r) }
	for _, x := range []struct {
		name   string
		long   func(*Channel, int) error
		beside func(*Channel, int) error
		on     *Channel
		length int
	}{
		{"a short Read beside a Write", write, read, a, 8},
		{"a Read beside a Write", write, read, a, shorter},
		{"a Write beside a Send", send, write, a, shorter},
		{"a Send on another channel beside a Send", send, send, a2, shorter},
		{"a Send on another channel beside a Write", write, send, a2, shorter},
		{"a Write on another channel beside a Write", write, write, a2, shorter},
	} {
		t.Run(x.name, func(t *testing.T) {
			const tries = 20 // a busy machine may let this goroutine run only when the long one has ended
			for range tries {
				done := make(chan error, 1)
				go func() { done <- x.long(a, long) }()
				for a.Context().bulkOutstanding()+b.Context().bulkOutstanding() == 0 { // until it is under way
					runtime.Gosched()
				}
				if err := x.beside(x.on, x.length); err != nil {
					t.Fatal(err)
				}
				waited := len(done) > 0
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				if !waited {
					return
				}
			}
			t.Errorf("%d bytes have always waited for the end of %d", x.length, long)
		})
	}
}

// A small message that cannot be delivered before a large one is no reason to hold that up.
func TestSmallBehindLarge(t *testing.T) {
	sender, receiver := pair(t, Config{})
	c := receiver.Context()
	const long = 64 << 20
	sent := make(chan error, 1)
	go func() { sent <- sender.Send(soon(t), make([]byte, long)) }()
	eventually(t, "it is under way", func() bool { return c.bulkOutstanding() > 0 })
	if err := sender.Send(soon(t), []byte("behind")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{long, len("behind")} {
		m, err := receiver.Receive(soon(t))
		if err != nil {
			t.Fatal(err)
		}
		if m.Len() != want {
			t.Errorf("%d bytes, want %d", m.Len(), want)
		}
		m.Release()
	}
	c.exclusive(func() {
		if c.bulk.smallAt != 0 {
			t.Error("what is large was read in short parts, for the small message")
		}
	})
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

// What is long gets on beside any number of short operations.
func TestShortOnesLeaveRoom(t *testing.T) {
	l := listen(t, open(t, Config{}))
	c := open(t, Config{})
	a, b := dialled(t, c, l)
	_, r := remote(t, b, a, 16<<20, CanRead|CanWrite)
	channels := []*Channel{a}
	for range 7 {
		ch, _ := dialled(t, c, l)
		channels = append(channels, ch)
	}
	ctx, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	defer readers.Wait()
	defer stop()
	for _, ch := range channels {
		for range 2 * readsPerChannel {
			readers.Go(func() {
				for into := make([]byte, 4096); ctx.Err() == nil; {
					_ = ch.Read(ctx, into, r)
				}
			})
		}
	}
	if err := a.Write(soon(t), make([]byte, 16<<20), r); err != nil {
		t.Error(err)
	}
}

func (c *Context) bulkOutstanding() (n int) {
	c.exclusive(func() { n = c.bulk.outstanding })
	return n
}

// What is on its way to a peer that is silent keeps nothing long of other channels waiting.
func TestLongOnesBesideASilentPeer(t *testing.T) {
	cfg := Config{Patience: time.Minute, Mock: MockOff, Linger: -1}
	c, silent := open(t, cfg), open(t, cfg)
	a, b := dialled(t, c, listen(t, open(t, cfg)))
	to, from := dialled(t, c, listen(t, silent))
	data := make([]byte, 16<<20)
	_, r := remote(t, b, a, len(data), CanWrite)
	_, s := remote(t, from, to, len(data), CanWrite)
	ctx, stop := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	defer writing.Wait()
	defer stop()
	writing.Go(func() {
		for to.Write(ctx, data, s) == nil {
		}
	})
	eventually(t, "something is on its way", func() bool { return c.bulkOutstanding() > 0 })
	cut(true, silent)
	c.exclusive(func() { c.bulk.smallAt = c.at + time.Hour }) // as if small messages came all the time
	within, cancel := context.WithTimeout(ctx, 40*time.Second)
	defer cancel()
	if err := a.Write(within, data, r); err != nil {
		t.Errorf("beside %d bytes to a silent peer: %v", c.bulkOutstanding(), err)
	}
	if err := to.Err(); err != nil {
		t.Errorf("the peer was not silent: %v", err)
	}
	cut(false, silent)
	stop()
	eventually(t, "nothing is on its way", func() bool { return c.bulkOutstanding() == 0 })
}

// Who waits behind a silent peer is looked after though the channel that was first in the queue ends.
func TestLongOnesBehindOneThatEnds(t *testing.T) {
	cfg := Config{Patience: time.Minute, Mock: MockOff, Linger: -1}
	c, silent, l := open(t, cfg), open(t, cfg), listen(t, open(t, cfg))
	a, b := dialled(t, c, l)
	first, there := dialled(t, c, l)
	to, from := dialled(t, c, listen(t, silent))
	data := make([]byte, 1<<20)
	_, r := remote(t, b, a, len(data), CanWrite)
	_, q := remote(t, there, first, len(data), CanWrite)
	_, s := remote(t, from, to, len(data), CanWrite)
	ctx, stop := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	defer writing.Wait()
	defer stop()
	cut(true, silent)
	writing.Go(func() { _ = to.Write(ctx, data[:c.cfg.Fragment], s) })
	eventually(t, "something is on its way to the silent peer", func() (some bool) {
		c.exclusive(func() {
			some = to.underway > 0
			c.bulk.smallAt, to.movedAt = c.at+time.Hour, c.at+time.Hour // it is not known yet that it stands still
		})
		return some
	})
	waiting := func(n int) func() bool {
		return func() (wait bool) {
			c.exclusive(func() { wait = c.bulk.turns.Len() == n })
			return wait
		}
	}
	writing.Go(func() { _ = first.Write(ctx, data, q) })
	eventually(t, "one waits", waiting(1))
	written := make(chan error, 1)
	go func() { written <- a.Write(ctx, data, r) }()
	eventually(t, "two wait", waiting(2))
	c.exclusive(func() {
		to.movedAt = 0
		first.fail(ErrClosed)
	})
	select {
	case err := <-written:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("nobody looks again whether the silent peer keeps others waiting")
	}
}
