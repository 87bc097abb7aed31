package braid

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/sim/topology"
)

// A text in parts of any length arrives in order and whole, however many of them the window has room for.
func TestSendAll(t *testing.T) {
	a, b := pair(t, Config{Window: minWindow})
	want := payload(3<<20 + 1)
	for _, part := range []int{100_000, 1 << 20, 4096} {
		failed := make(chan error, 1)
		go func() {
			n, err := a.SendAll(soon(t), slices.Chunk(want, part))
			if parts := (len(want) + part - 1) / part; err == nil && n != parts {
				t.Errorf("%d messages are sent of %d", n, parts)
			}
			failed <- err
		}()
		var got []byte
		for len(got) < len(want) {
			m, err := b.Receive(soon(t))
			if err != nil {
				t.Fatal(err)
			}
			if len(m.Bytes()) > part {
				t.Errorf("a message of %d bytes, want at most %d", len(m.Bytes()), part)
			}
			got = append(got, m.Bytes()...)
			m.Release()
		}
		if !bytes.Equal(got, want) {
			t.Errorf("parts of %d bytes arrive as others", part)
		}
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
}

// onceUnacknowledged is a context that ends when so many messages of a channel have been sent.
func onceUnacknowledged(t *testing.T, ch *Channel, messages int) context.Context {
	ctx, cancel := context.WithCancel(soon(t))
	go func() {
		defer cancel()
		for n := 0; n < messages && ctx.Err() == nil; {
			ch.context.exclusive(func() { n = ch.session.Unacknowledged() })
		}
	}()
	return ctx
}

// wantNext receives the next message.
func wantNext(t *testing.T, ch *Channel, want []byte) {
	t.Helper()
	m, err := ch.Receive(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(m.Bytes(), want) {
		t.Errorf("a message of %d bytes is not the one of %d that is next", len(m.Bytes()), len(want))
	}
	m.Release()
}

// What SendAll says was sent arrives, and nothing else, whenever its context ends and wherever a message cannot be sent.
func TestSendAllEndsEarly(t *testing.T) {
	a, b := pair(t, Config{Window: minWindow, MaxMessage: 1 << 20})
	buffer := payload(300 << 10)
	want := bytes.Clone(buffer)
	wantArrival := func(sent, part int) {
		t.Helper()
		for i := range sent {
			wantNext(t, b, want[i*part:(i+1)*part])
		}
		if err := a.Flush(soon(t)); err != nil || len(b.incoming) > 0 {
			t.Errorf("%d messages more than were sent, %v", len(b.incoming), err)
		}
	}
	for _, part := range []int{len(buffer) / 20, 1000} {
		copy(buffer, want)
		sent, err := a.SendAll(onceUnacknowledged(t, a, minWindow), slices.Chunk(buffer, part))
		if !errors.Is(err, context.Canceled) || sent != minWindow {
			t.Fatalf("%d messages of %d bytes, want the %d of the window; %v", sent, part, minWindow, err)
		}
		clear(buffer) // it is ours again
		wantArrival(sent, part)
	}
	long := [][]byte{want[:10], want[10:20], make([]byte, 1<<20+1), want[20:30]}
	if sent, err := a.SendAll(soon(t), slices.Values(long)); sent != 2 || !errors.Is(err, ErrTooLong) {
		t.Errorf("%d messages before one that is too long, %v", sent, err)
	}
	wantArrival(2, 10)
	if sent, err := a.SendAll(soon(t), slices.Values([][]byte(nil))); sent != 0 || err != nil {
		t.Errorf("of none %d are sent, %v", sent, err)
	}
	b.Close()
	<-a.Done()
	if sent, err := a.SendAll(soon(t), slices.Values(long[:2])); sent != 0 || err == nil {
		t.Errorf("on a channel that has ended %d messages are sent, %v", sent, err)
	}
}

// Messages that are on their way when the context ends arrive as they were, and none is begun behind those that are withdrawn.
func TestSendAllBesideAFullPeer(t *testing.T) {
	const part = 256 << 10
	a, b := pair(t, Config{Memory: 4 * part, MaxMessage: 4 * part}) // the rest waits to be read
	for range 64 {                                                  // the window grows
		if err := a.Send(soon(t), nil); err != nil {
			t.Fatal(err)
		}
		wantNext(t, b, nil)
	}
	buffer := payload(40 * part)
	want := bytes.Clone(buffer)
	const most = 4 + sendsAhead
	sent, err := a.SendAll(onceUnacknowledged(t, a, most), slices.Chunk(buffer, part))
	if !errors.Is(err, context.Canceled) || sent != most {
		t.Fatalf("%d messages, want the 4 that the peer has room for and %d behind them; %v", sent, sendsAhead, err)
	}
	clear(buffer)
	next := make(chan error, 1)
	go func() { next <- a.Send(soon(t), want[sent*part:][:part]) }()
	for i := range sent + 1 {
		wantNext(t, b, want[i*part:][:part])
	}
	if err := <-next; err != nil {
		t.Error(err)
	}
}

// Where the round trip is long, messages one behind the other keep the network busy that single ones leave idle.
func TestSendAllOverDistance(t *testing.T) {
	const length, part = 16 << 20, 256 << 10
	spend := func(send func(ch *Channel, text []byte) error) (spent sim.Time) {
		d := newDatacenterOver(t, sim.Config{Seed: 1, MTU: 1024, Verify: true}, 250*topology.Microsecond)
		d.program(1, Config{Channels: 1}, func(c *Context) error {
			l, err := c.Listen(7174)
			if err != nil {
				return err
			}
			ch, err := l.Accept(t.Context())
			for err == nil {
				var m *Msg
				if m, err = ch.Receive(t.Context()); err == nil {
					m.Release()
				}
			}
			return nil
		})
		d.program(0, Config{Channels: 1}, func(c *Context) error {
			ch, err := c.Dial(t.Context(), "10.0.0.2:7174")
			if err != nil {
				return err
			}
			begun := d.net.Now()
			err = send(ch, make([]byte, length))
			spent = d.net.Now() - begun
			return err
		})
		d.run(10 * sim.Second)
		return spent
	}
	alone := spend(func(ch *Channel, text []byte) error {
		for p := range slices.Chunk(text, part) {
			if err := ch.Send(t.Context(), p); err != nil {
				return err
			}
		}
		return nil
	})
	together := spend(func(ch *Channel, text []byte) error {
		_, err := ch.SendAll(t.Context(), slices.Chunk(text, part))
		return err
	})
	t.Logf("%d bytes in %v one by one, in %v together", length, alone, together)
	if 2*together > alone {
		t.Errorf("one by one they take %v, together %v", alone, together)
	}
}

// SendAll counts the first ones only.
func TestSendAllCountsFirst(t *testing.T) {
	a, b := pair(t, Config{Memory: 1 << 20, Linger: -1})
	if err := a.Send(soon(t), make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	all := [][]byte{make([]byte, 1<<20), []byte("2"), []byte("3")}
	type result struct {
		n   int
		err error
	}
	sent := make(chan result, 1)
	go func() {
		n, err := a.SendAll(soon(t), slices.Values(all))
		sent <- result{n, err}
	}()
	eventually(t, "the second message waits", func() (starved bool) {
		b.context.exclusive(func() { starved = b.starved && b.session.Counters().Received == 4 })
		return starved
	})
	b.Close()
	if r := <-sent; r.n != 0 || r.err == nil {
		t.Errorf("%d messages are said to be sent, of which the first failed: %v", r.n, r.err)
	}
}
