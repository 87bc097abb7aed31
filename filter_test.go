package braid

import (
	"bytes"
	"context"
	"errors"
	"math/bits"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braid-rdma/braid/internal/session"
	"github.com/braid-rdma/braid/sim"
)

func TestFilterDrops(t *testing.T) {
	a, b := pair(t, Config{})
	odd := func(m *Msg) bool { return m.Len() > 0 && m.Bytes()[0]%2 == 1 }
	if err := b.Context().SetFilter(&Filter{Match: odd, Drop: 1}); err != nil {
		t.Fatal(err)
	}
	go func() {
		for i := range 100 {
			if err := a.Send(t.Context(), []byte{byte(i)}); err != nil {
				t.Error(err)
			}
		}
	}()
	for want := byte(0); want < 100; want += 2 {
		m, err := b.Receive(soon(t))
		if err != nil || m.Bytes()[0] != want {
			t.Fatalf("want message %d: %v, %v", want, m, err)
		}
		m.Release()
	}
	for b.Stats().Filtered < 50 {
		time.Sleep(time.Millisecond)
	}
	if err := a.Flush(soon(t)); err != nil { // what was dropped was received, as far as the sender knows
		t.Error(err)
	}
}

// A call whose response is lost ends with its context, or with the channel; the next one works.
func TestFilterDropsResponses(t *testing.T) {
	ch := serve(t, Config{}, echo)
	if err := ch.Context().SetFilter(&Filter{Drop: 1}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := ch.Call(ctx, []byte("x")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a lost response: %v", err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := ch.Call(context.Background(), []byte("y"))
		ended <- err
	}()
	for ch.Stats().Filtered < 2 {
		time.Sleep(time.Millisecond)
	}
	if err := ch.Context().SetFilter(nil); err != nil {
		t.Fatal(err)
	}
	if m, err := ch.Call(soon(t), []byte("z")); err != nil {
		t.Errorf("without the filter: %v", err)
	} else {
		m.Release()
	}
	ch.Close()
	if err := <-ended; !errors.Is(err, ErrClosed) {
		t.Errorf("a lost response, and the channel is closed: %v", err)
	}
}

func TestFilterDuplicates(t *testing.T) {
	var handled atomic.Int32
	l := listen(t, open(t, Config{}))
	if err := l.context.SetFilter(&Filter{Duplicate: 1}); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = l.Serve(t.Context(), func(_ context.Context, m *Msg) ([]byte, error) {
			handled.Add(1)
			return m.Bytes(), nil
		})
	}()
	ch, err := open(t, Config{}).Dial(soon(t), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		m, err := ch.Call(soon(t), []byte("once"))
		if err != nil || string(m.Bytes()) != "once" {
			t.Fatal(err)
		}
		m.Release()
	}
	for handled.Load() < 40 {
		time.Sleep(time.Millisecond)
	}
}

func TestFilterCorruptsAndDelays(t *testing.T) {
	a, b := pair(t, Config{})
	want := payload(1000)
	if err := b.Context().SetFilter(&Filter{Corrupt: 1}); err != nil {
		t.Fatal(err)
	}
	if err := a.Send(soon(t), want); err != nil {
		t.Fatal(err)
	}
	m, err := b.Receive(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	changed := 0
	for i := range want {
		changed += bits.OnesCount8(want[i] ^ m.Bytes()[i])
	}
	if changed != 1 {
		t.Errorf("%d bits have changed", changed)
	}
	m.Release()
	if err := b.Context().SetFilter(&Filter{Slow: 0.5, Delay: 5 * time.Millisecond, Seed: 1}); err != nil {
		t.Fatal(err)
	}
	go func() {
		for i := range 50 {
			if err := a.Send(t.Context(), []byte{byte(i)}); err != nil {
				t.Error(err)
			}
		}
	}()
	for i := range 50 {
		m, err := b.Receive(soon(t))
		if err != nil || !bytes.Equal(m.Bytes(), []byte{byte(i)}) {
			t.Fatalf("message %d: %v, %v", i, m, err)
		}
		m.Release()
	}
}

// A channel that ends while messages are delayed keeps nobody waiting.
func TestFilterDelaysTheEnd(t *testing.T) {
	ch := serve(t, Config{Linger: -1}, echo)
	if err := ch.Context().SetFilter(&Filter{Slow: 1, Delay: time.Hour}); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := ch.Call(context.Background(), payload(10000))
		ended <- err
	}()
	for ch.Stats().Filtered == 0 {
		time.Sleep(time.Millisecond)
	}
	ch.Close()
	if err := <-ended; !errors.Is(err, ErrClosed) {
		t.Errorf("a delayed response: %v", err)
	}
	for _, bad := range []Filter{{Drop: -1}, {Slow: 2}, {Delay: -1}} {
		if err := ch.Context().SetFilter(&bad); !errors.Is(err, ErrConfig) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// What a filter delays is not delivered when it would have been by the one before it.
func TestFilterDelaysBehindAnother(t *testing.T) {
	const second, other = time.Second, 10 * time.Second
	d := newDatacenter(t, 1)
	d.program(1, Config{Channels: 4}, func(c *Context) error {
		l, err := c.Listen(7174)
		if err != nil {
			return err
		}
		ch, err := l.Accept(t.Context())
		if err != nil {
			return err
		}
		for _, delay := range []time.Duration{second, other} {
			if err := c.SetFilter(&Filter{Slow: 1, Delay: delay}); err != nil { // which delivers what is delayed
				return err
			}
			if err := ch.Send(t.Context(), []byte("go on")); err != nil {
				return err
			}
			d.net.Sleep(1, sim.Second/2)
		}
		begun := d.net.Now()
		for range 2 {
			m, err := ch.Receive(t.Context())
			if err != nil {
				return err
			}
			m.Release()
		}
		if took := d.net.Now() - begun; took < 9*sim.Second {
			t.Errorf("the second message is delayed by %v, want %v", took, other)
		}
		return ch.Close()
	})
	d.program(0, Config{Channels: 4}, func(c *Context) error {
		ch, err := c.Dial(t.Context(), "10.0.0.2:7174")
		if err != nil {
			return err
		}
		for range 2 {
			m, err := ch.Receive(t.Context())
			if err != nil {
				return err
			}
			m.Release()
			if err := ch.Send(t.Context(), []byte("slow")); err != nil {
				return err
			}
		}
		_, _ = ch.Receive(t.Context()) // until it ends
		return nil
	})
	d.run(60 * sim.Second)
}

// A peer that makes calls without end while they are lost is not remembered without end.
func TestFilterForgetsLostCalls(t *testing.T) {
	_, b := pair(t, Config{})
	kept := 0
	b.context.exclusive(func() {
		for call := range uint32(3 * maxCalls) {
			m := &Msg{channel: b, copied: true} // the protocol does not know it
			m.in.Kind, m.in.Call = session.Request, call
			b.lose(m)
		}
		kept = len(b.lostRequests)
	})
	if kept > maxCalls {
		t.Errorf("%d calls are remembered, and a peer has %d at most", kept, maxCalls)
	}
}

// A call that is given up is forgotten though its response was lost, before or after.
func TestFilterForgetsLostResponses(t *testing.T) {
	begun, goOn := make(chan struct{}), make(chan struct{})
	ch := serve(t, Config{}, func(_ context.Context, m *Msg) ([]byte, error) {
		if string(m.Bytes()) == "late" {
			begun <- struct{}{}
			<-goOn
		}
		return nil, nil
	})
	if err := ch.Context().SetFilter(&Filter{Drop: 1}); err != nil {
		t.Fatal(err)
	}
	ended := func(text string) (cancel context.CancelFunc, wait func()) {
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan error, 1)
		go func() {
			_, err := ch.Call(ctx, []byte(text))
			over <- err
		}()
		return cancel, func() {
			if err := <-over; !errors.Is(err, context.Canceled) {
				t.Errorf("a lost response: %v", err)
			}
		}
	}
	lost := uint64(0)
	for range 10 {
		cancel, wait := ended("early")
		lost++
		eventually(t, "the response is lost", func() bool { return ch.Stats().Filtered == lost })
		cancel()
		wait()
		cancel, wait = ended("late")
		<-begun
		cancel()
		wait()
		goOn <- struct{}{}
		lost++
		eventually(t, "the response is lost", func() bool { return ch.Stats().Filtered == lost })
	}
	kept := 0
	ch.Context().exclusive(func() { kept = len(ch.lostCalls) })
	if kept > 0 {
		t.Errorf("%d calls that nobody waits for are kept", kept)
	}
}
