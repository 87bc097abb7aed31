package braid

import (
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A program with a loop of its own: it waits for the descriptor, polls, and takes what is there.
func TestEventFD(t *testing.T) {
	a, b := pair(t, Config{})
	c := b.Context()
	fd, err := c.EventFD()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for i := range 100 {
			if err := a.Send(t.Context(), []byte{byte(i)}); err != nil {
				t.Error(err)
			}
		}
	}()
	for next := byte(0); next < 100; {
		set := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if _, err := unix.Poll(set, 30000); err != nil && !errors.Is(err, unix.EINTR) {
			t.Fatal(err)
		}
		c.ClearEvent()
		c.Poll()
		for m := b.TryReceive(); m != nil; m = b.TryReceive() {
			if m.Bytes()[0] != next {
				t.Fatalf("message %d in the place of %d", m.Bytes()[0], next)
			}
			next++
			m.Release()
		}
	}
}

// The descriptor is closed with the context, and its number is then another file's, which nothing of the context may
// touch.
func TestEventFDAfterClose(t *testing.T) {
	_, b := pair(t, Config{})
	c := b.Context()
	fd, err := c.EventFD()
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	if _, err := c.EventFD(); !errors.Is(err, ErrClosed) {
		t.Errorf("a descriptor of a closed context: %v", err)
	}
	foreign, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(foreign)
	if foreign != fd {
		same, err := unix.FcntlInt(uintptr(foreign), unix.F_DUPFD_CLOEXEC, fd)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(same)
		if same != fd {
			t.Skipf("descriptor %d is in use already", fd)
		}
	}
	_ = b.Flush(soon(t)) // the end of a flush is an event
	set := []unix.PollFd{{Fd: int32(foreign), Events: unix.POLLIN}}
	if n, err := unix.Poll(set, 0); n != 0 || err != nil {
		t.Errorf("a foreign file was written to: %d, %v", n, err)
	}
	count := [8]byte{1}
	if _, err := unix.Write(foreign, count[:]); err != nil {
		t.Fatal(err)
	}
	c.ClearEvent()
	if n, err := unix.Poll(set, 0); n != 1 || err != nil {
		t.Errorf("a foreign file was read from: %d, %v", n, err)
	}
}

func TestNotify(t *testing.T) {
	a, b := pair(t, Config{})
	notify := b.Context().Notify()
	if err := a.Send(soon(t), []byte("x")); err != nil {
		t.Fatal(err)
	}
	for b.TryReceive() == nil {
		select {
		case <-notify:
		case <-time.After(2 * time.Minute):
			t.Fatal("nothing is told")
		}
	}
}

func TestUpdate(t *testing.T) {
	a, b := pair(t, Config{})
	c := b.Context()
	if err := c.Update(func(cfg *Config) { cfg.Fragments, cfg.Keepalive = 2, time.Second }); err != nil {
		t.Fatal(err)
	}
	if cfg := c.Config(); cfg.Fragments != 2 || cfg.Keepalive != time.Second {
		t.Errorf("after Update: %+v", cfg)
	}
	for name, change := range map[string]func(*Config){
		"an impossible value": func(cfg *Config) { cfg.Fragments, cfg.Memory = 1, -1 },
		"a fixed one":         func(cfg *Config) { cfg.Fragments, cfg.Window = 1, 9 },
	} {
		if err := c.Update(change); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
		if c.Config().Fragments != 2 {
			t.Errorf("%s changed something", name)
		}
	}
	sent := make(chan error, 1)
	go func() { sent <- a.Send(soon(t), payload(1<<20)) }()
	if m, err := b.Receive(soon(t)); err != nil || m.Len() != 1<<20 {
		t.Errorf("with two fragments at a time: %v", err)
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

func TestBadConfig(t *testing.T) {
	for _, cfg := range []Config{{SmallMessage: -1}, {Window: 2}, {MaxMessage: 1 << 40}, {Channels: 1 << 30}, {Patience: -1}, {Memory: 1}} {
		if c, err := Open(cfg); !errors.Is(err, ErrConfig) {
			t.Errorf("%+v: %v", cfg, err)
			c.Close()
		}
	}
}
