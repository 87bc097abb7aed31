package sim

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"
)

// streamPair runs two programs on hosts of a network with streams: one listens at port 7, the other dials it.
func streamPair(t *testing.T, script func(n *Network), listens func(n *Network, l net.Listener), dials func(n *Network, dial func(time.Duration) (*streamEnd, error))) {
	t.Helper()
	n := newNetwork(t, leafSpine(2, 1, 2), Config{Seed: 1, Streams: Streams{Delay: 10 * Microsecond, Rate: 1e9}})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	script(n)
	left := 2
	must(n.Go(1, func() {
		l, err := n.hosts[1].ListenStream(7)
		must(err)
		listens(n, l)
		must(l.Close())
		left--
	}))
	must(n.Go(0, func() {
		dials(n, func(patience time.Duration) (*streamEnd, error) {
			ctx, cancel := context.WithCancel(t.Context())
			defer n.hosts[0].After(patience, cancel)()
			conn, err := n.hosts[0].DialStream(ctx, netip.AddrPortFrom(hostAddr(1), 7))
			if err != nil {
				return nil, err
			}
			return conn.(*streamEnd), nil
		})
		left--
	}))
	n.Run(100 * Second)
	if left > 0 || n.OpenStreams(0)+n.OpenStreams(1) > 0 {
		t.Errorf("%d programs have not ended, %d and %d streams are open", left, n.OpenStreams(0), n.OpenStreams(1))
	}
}

func calm(*Network) {}

// echoOnce sends back what comes by one connection, until its end.
func echoOnce(t *testing.T) func(*Network, net.Listener) {
	return func(_ *Network, l net.Listener) {
		c, err := l.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.Copy(c, c)
		_ = c.Close()
	}
}

// A stream carries what is written, in order, at its rate and with its delay.
func TestStreamCarries(t *testing.T) {
	streamPair(t, calm, echoOnce(t), func(n *Network, dial func(time.Duration) (*streamEnd, error)) {
		s, err := dial(time.Second)
		if err != nil {
			t.Error(err)
			return
		}
		if at := n.Now(); at != 20*Microsecond {
			t.Errorf("a connection takes %v, want two delays", at)
		}
		began, sent := n.Now(), make([]byte, 3<<20)
		for i := range sent {
			sent[i] = byte(i * 7)
		}
		n.hosts[0].Go(func() {
			_, _ = s.Write(sent)
			_ = s.CloseWrite()
		})
		got, err := io.ReadAll(s)
		if err != nil || string(got) != string(sent) {
			t.Errorf("%d bytes came back of %d: %v", len(got), len(sent), err)
		}
		if took := n.Now() - began; took < 25*Millisecond || took > 30*Millisecond {
			t.Errorf("3 MiB took %v at 1 Gbit/s", took)
		}
		_ = s.Close()
	})
}

// What stalls waits and arrives; with a user timeout it is given up, and the peer is told when it asks.
func TestStreamStalls(t *testing.T) {
	stall := func(n *Network) {
		for _, at := range []struct {
			t Time
			f StreamFault
		}{{Millisecond, StreamsStall}, {Second, StreamsWork}, {2 * Second, StreamsStall}, {4 * Second, StreamsWork}} {
			if err := n.ImpairStreams(at.t, 0, 1, at.f); err != nil {
				t.Fatal(err)
			}
		}
	}
	streamPair(t, stall, func(n *Network, l net.Listener) {
		c, _ := l.Accept()
		b := make([]byte, 10)
		if got, err := c.Read(b); got != 1 || err != nil || n.Now() < Second {
			t.Errorf("at %v: %d bytes, %v", n.Now(), got, err)
		}
		_ = c.SetReadDeadline(n.hosts[1].Clock().Add(4 * time.Second))
		if got, err := c.Read(b); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%d bytes arrive that were given up: %v", got, err)
		}
		_, _ = c.Write(b)
		n.Sleep(1, Second)
		if _, err := c.Write(b); !errors.Is(err, errReset) {
			t.Errorf("the peer has given up: %v", err)
		}
		_ = c.Close()
	}, func(n *Network, dial func(time.Duration) (*streamEnd, error)) {
		s, err := dial(time.Second)
		if err != nil {
			t.Error(err)
			return
		}
		n.Sleep(0, 2*Millisecond)
		_, _ = s.Write([]byte{1})
		n.Sleep(0, 2*Second)
		s.SetUserTimeout(time.Second)
		_, _ = s.Write([]byte{2})
		if _, err := s.Read(make([]byte, 1)); !errors.Is(err, errTimedOut) {
			t.Errorf("nothing was acknowledged: %v", err)
		}
		if at := n.Now(); at < 3*Second || at > 3*Second+10*Millisecond {
			t.Errorf("given up at %v", at)
		}
		_ = s.Close()
	})
}

// Streams can be refused, given up while they are opened, and broken.
func TestStreamFails(t *testing.T) {
	script := func(n *Network) {
		for at, f := range map[Time]StreamFault{1: StreamsRefused, Second: StreamsStall, 2 * Second: StreamsWork} {
			if err := n.ImpairStreams(at, 0, 1, f); err != nil {
				t.Fatal(err)
			}
		}
		if err := n.BreakStreams(4*Second, 0, 1); err != nil {
			t.Fatal(err)
		}
	}
	streamPair(t, script, func(_ *Network, l net.Listener) {
		for _, want := range []error{errReset, errReset} { // given up, broken
			c, _ := l.Accept()
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, want) {
				t.Errorf("the end of a stream is %v, want %v", err, want)
			}
			_ = c.Close()
		}
	}, func(n *Network, dial func(time.Duration) (*streamEnd, error)) {
		n.Sleep(0, Millisecond)
		if _, err := dial(time.Second); !errors.Is(err, errRefused) {
			t.Errorf("refused: %v", err)
		}
		n.Sleep(0, Second)
		if _, err := dial(500 * time.Millisecond); !errors.Is(err, context.Canceled) {
			t.Errorf("given up: %v", err)
		}
		n.Sleep(0, Second)
		s, err := dial(time.Second)
		if err != nil {
			t.Error(err)
			return
		}
		if _, err := s.Read(make([]byte, 1)); !errors.Is(err, errReset) || n.Now() != 4*Second {
			t.Errorf("broken at %v: %v", n.Now(), err)
		}
		_ = s.Close()
	})
	n := newNetwork(t, leafSpine(2, 1, 2), Config{Seed: 1})
	if err := n.BreakStreams(1, 0, 1); !errors.Is(err, ErrConfig) {
		t.Errorf("a network without streams: %v", err)
	}
	if _, err := n.hosts[0].ListenStream(0); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a network without streams: %v", err)
	}
}
