package braid

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/braid-rdma/braid/internal/loopnet"
	"github.com/braid-rdma/braid/udp"
	"github.com/braid-rdma/braid/verbs"
)

// kinds runs a test with both kinds of queue pairs.
func kinds(t *testing.T, test func(*testing.T, Config)) {
	t.Run("MP", func(t *testing.T) { test(t, Config{}) })
	t.Run("RC", func(t *testing.T) { test(t, Config{SinglePath: true}) })
}

// cut has the devices of contexts lose all that they send by UDP, or nothing.
func cut(all bool, contexts ...*Context) {
	for _, c := range contexts {
		faults := udp.FaultsOf(c.device)
		for path := range c.device.Query().Paths {
			if all {
				faults.Cut(path)
			} else {
				faults.Restore(path)
			}
		}
	}
}

// moves are those of a context's channels, as OnMove tells them.
func moves(c *Context) <-chan Move {
	news := make(chan Move, 1000)
	c.OnMove(func(m Move) { news <- m })
	return news
}

// wantMove waits for a move to a carrier and checks its reason.
func wantMove(t *testing.T, news <-chan Move, to Carrier, why MoveReason) {
	t.Helper()
	select {
	case m := <-news:
		if m.To != to || m.Reason != why {
			t.Fatalf("moved to %v, %v (%v); want %v, %v", m.To, m.Reason, m.Err, to, why)
		}
	case <-soon(t).Done():
		t.Fatalf("not moved to %v", to)
	}
}

func setCarrier(t *testing.T, ch *Channel, c Carrier) {
	t.Helper()
	if err := ch.SetCarrier(soon(t), c); err != nil {
		t.Fatalf("to %v: %v", c, err)
	}
}

// awaitRest waits until channels have no TCP connection left.
func awaitRest(t *testing.T, channels ...*Channel) {
	t.Helper()
	limit := soon(t)
	for _, ch := range channels {
		f := ch.fallback
		for running := true; running; time.Sleep(time.Millisecond) {
			f.mu.Lock()
			running = f.running
			f.mu.Unlock()
			if limit.Err() != nil {
				t.Fatal("a TCP connection is left")
			}
		}
	}
}

// exchange sends a message each way and makes sure that it has arrived.
func exchange(t *testing.T, a, b *Channel, size int) {
	t.Helper()
	want := payload(size)
	for _, way := range [][2]*Channel{{a, b}, {b, a}} {
		sent := make(chan error, 1)
		go func() { sent <- way[0].Send(soon(t), want) }()
		m, err := way[1].Receive(soon(t))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(m.Bytes(), want) {
			t.Errorf("%d bytes arrive as %d others", size, m.Len())
		}
		m.Release()
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
	}
}

func udpStats(t *testing.T, c *Context) udp.Stats {
	t.Helper()
	s, ok := udp.StatsOf(c.device)
	if !ok {
		t.Fatal("no statistics")
	}
	return s
}

func diverted(t *testing.T, c *Context) uint64 {
	t.Helper()
	return udpStats(t, c).PacketsDiverted
}

// A channel moves on command of either end, both ends with it, and says so; back on the command
// to do as it likes, once UDP has proven to work.
func TestCarrierOnCommand(t *testing.T) {
	kinds(t, func(t *testing.T, cfg Config) {
		a, b := pair(t, cfg)
		atA, atB := moves(a.context), moves(b.context)
		exchange(t, a, b, 1000)
		if n := diverted(t, a.context); n != 0 {
			t.Errorf("%d packets were diverted before", n)
		}
		for _, end := range []struct {
			ch         *Channel
			own, other <-chan Move
		}{{a, atA, atB}, {b, atB, atA}} {
			setCarrier(t, end.ch, CarrierTCP)
			wantMove(t, end.own, CarrierTCP, MovedOnCommand)
			wantMove(t, end.other, CarrierTCP, MovedByPeer)
			before := diverted(t, a.context)
			exchange(t, a, b, 300_000)
			if n := diverted(t, a.context) - before; n < 10 {
				t.Errorf("%d packets were diverted", n)
			}
			if s, c := a.Stats(), b.context.Stats(); !s.OnTCP || c.OnTCP != 1 {
				t.Errorf("on TCP: %+v, %+v", s, c)
			}
			setCarrier(t, end.ch, CarrierAuto)
			wantMove(t, end.own, CarrierUDP, MovedBack)
			wantMove(t, end.other, CarrierUDP, MovedBack)
			exchange(t, a, b, 300_000)
			awaitRest(t, a, b) // a command would use the connection that the peer is closing
		}
		setCarrier(t, a, CarrierTCP)
		wantMove(t, atB, CarrierTCP, MovedByPeer)
		setCarrier(t, a, CarrierUDP)
		wantMove(t, atB, CarrierUDP, MovedByPeer)
		exchange(t, a, b, 1000)
		if s := a.Stats(); s.OnTCP || s.Moves < 6 || s.LastMove != MovedOnCommand {
			t.Errorf("in the end: on TCP %v, %d moves, the last %v", s.OnTCP, s.Moves, s.LastMove)
		}
	})
}

// Both ends command one carrier and the other while messages, calls and one-sided
// operations go on: each message comes once, in order.
func TestMovesDuringTraffic(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	kinds(t, func(t *testing.T, cfg Config) {
		cfg.Patience = 8 * time.Second // whatever else this machine does
		a, b := pair(t, cfg)
		tr := startTraffic(t, a, b, seed)
		r := rand.New(rand.NewPCG(seed, 30))
		for i := range 16 {
			ch := a
			if r.IntN(2) == 0 {
				ch = b
			}
			to := []Carrier{CarrierTCP, CarrierTCP, CarrierUDP, CarrierAuto}[r.IntN(4)]
			if i < 2 { // whatever is drawn, one side moves there and back
				ch, to = a, []Carrier{CarrierTCP, CarrierUDP}[i]
			}
			// Both ends may open a connection at the same time, of which one is refused.
			if err := ch.SetCarrier(soon(t), to); err != nil && !errors.Is(err, ErrNoTCP) {
				t.Fatalf("to %v: %v", to, err)
			}
			if r.IntN(3) > 0 {
				tr.progress()
			}
		}
		if a.Stats().Moves < 2 {
			t.Errorf("%d and %d moves", a.Stats().Moves, b.Stats().Moves)
		}
		tr.end()
	})
}

// UDP is cut between two contexts: their channel moves to TCP by itself and nothing fails;
// when UDP works again it moves back.
func TestMoveByItself(t *testing.T) {
	kinds(t, func(t *testing.T, cfg Config) {
		a, b := pair(t, cfg)
		atA, atB := moves(a.context), moves(b.context)
		tr := startTraffic(t, a, b, 1)
		for range 2 {
			tr.progress()
			cut(true, a.context, b.context)
			wantArrival(t, atA, CarrierTCP)
			wantArrival(t, atB, CarrierTCP)
			tr.progress()
			cut(false, a.context, b.context)
			wantArrival(t, atA, CarrierUDP)
			wantArrival(t, atB, CarrierUDP)
		}
		tr.progress()
		tr.end()
		if n := diverted(t, a.context); n == 0 {
			t.Error("no packet was diverted")
		}
	})
}

// wantArrival waits until a channel has moved to a carrier, whatever it did before.
func wantArrival(t *testing.T, news <-chan Move, to Carrier) {
	t.Helper()
	for {
		select {
		case m := <-news:
			if m.To == to {
				return
			}
		case <-soon(t).Done():
			t.Fatalf("not moved to %v", to)
		}
	}
}

// UDP is cut in one direction, for a channel on which one side only sends.
func TestMoveOneWay(t *testing.T) {
	kinds(t, func(t *testing.T, cfg Config) {
		for _, name := range []string{"from the client", "to the client"} {
			t.Run(name, func(t *testing.T) {
				a, b := pair(t, cfg)
				cutAt := a.context
				if name == "to the client" {
					cutAt = b.context
				}
				atA, atB := moves(a.context), moves(b.context)
				udp.FaultsOf(cutAt.device).OutOnly(true)
				cut(true, cutAt)
				var wg sync.WaitGroup
				wg.Go(func() { // only the server sends, so the client has no reason of its own
					for range 20 {
						if err := b.Send(soon(t), payload(10_000)); err != nil {
							t.Error(err)
						}
					}
				})
				wg.Go(func() {
					for range 20 {
						m, err := a.Receive(soon(t))
						if err != nil {
							t.Error(err)
							return
						}
						m.Release()
					}
				})
				wantArrival(t, atB, CarrierTCP)
				wantArrival(t, atA, CarrierTCP)
				wg.Wait()
				// What can still go by UDP goes back to it.
				intact := atA
				if cutAt == a.context {
					intact = atB
				}
				wantArrival(t, intact, CarrierUDP)
				cut(false, cutAt)
				exchange(t, a, b, 1000)
			})
		}
	})
}

// A context that is told to stay on UDP does; the channel ends when the peer's patience does.
func TestCommandedToStay(t *testing.T) {
	a, b := pair(t, Config{Patience: time.Second})
	setCarrier(t, a, CarrierUDP)
	setCarrier(t, b, CarrierUDP)
	cut(true, a.context, b.context)
	if _, err := a.Call(soon(t), []byte("x")); !errors.Is(err, verbs.ErrRetryExceeded) {
		t.Errorf("the call fails with %v", err)
	}
	if s := a.Stats(); s.Moves != 0 {
		t.Errorf("moved: %+v", s)
	}
}

// When TCP breaks, a channel goes on by UDP, and tries TCP again if that is what it was told.
func TestBrokenTCP(t *testing.T) {
	kinds(t, func(t *testing.T, cfg Config) {
		a, b := pair(t, cfg)
		proxy := newProxy(t, a)
		setCarrier(t, a, CarrierTCP)
		exchange(t, a, b, 1000)
		atA := moves(a.context)
		tr := startTraffic(t, a, b, 2)
		for range 3 {
			tr.progress()
			proxy.reset()
			wantMove(t, atA, CarrierUDP, MovedByBrokenTCP)
			tr.progress()
			wantMove(t, atA, CarrierTCP, MovedOnCommand)
		}
		tr.end()
	})
}

// A TCP connection that carries nothing is given up, since UDP may be better.
func TestStalledTCP(t *testing.T) {
	kinds(t, func(t *testing.T, cfg Config) {
		a, b := pair(t, cfg)
		proxy := newProxy(t, a)
		atA := moves(a.context)
		setCarrier(t, a, CarrierTCP)
		wantMove(t, atA, CarrierTCP, MovedOnCommand)
		exchange(t, a, b, 1000)
		proxy.stall()
		exchange(t, a, b, 1000)
		wantMove(t, atA, CarrierUDP, MovedByBrokenTCP)
	})
}

// The end of a channel is told by TCP, too.
func TestCloseWhileCut(t *testing.T) {
	a, b := pair(t, Config{})
	setCarrier(t, a, CarrierTCP)
	exchange(t, a, b, 1000)
	cut(true, a.context, b.context)
	exchange(t, a, b, 100_000)
	a.Close()
	<-b.Done()
	if err := b.Err(); !errors.Is(err, ErrPeerClosed) {
		t.Errorf("the peer's channel ended: %v", err)
	}
}

// When neither carrier reaches the peer, the channel ends and says so of both.
func TestBothCarriersFail(t *testing.T) {
	a, b := pair(t, Config{Patience: time.Second})
	b.context.streams.listener.Close() // nobody is there
	cut(true, a.context, b.context)
	_, err := a.Call(soon(t), []byte("x"))
	if !errors.Is(err, verbs.ErrRetryExceeded) || !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("the call fails with %v", err)
	}
}

// An end that the peer has told of says nothing of an attempt at TCP that has failed long before.
func TestPeerClosesAfterFailedTCP(t *testing.T) {
	a, b := pair(t, Config{})
	b.context.streams.listener.Close() // nobody is there
	if err := a.SetCarrier(soon(t), CarrierTCP); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Fatalf("to TCP: %v", err)
	}
	b.Close()
	<-a.Done()
	if err := a.Err(); !errors.Is(err, ErrPeerClosed) || errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("the channel has ended with %v", err)
	}
}

// Who dials while UDP is cut learns that the peer is not reached.
func TestDialWhileCut(t *testing.T) {
	server, client := open(t, Config{}), open(t, Config{})
	l := listen(t, server)
	cut(true, client)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := client.Dial(ctx, l.Addr().String()); !errors.Is(err, ErrUnreachable) && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Dial: %v", err)
	}
	cut(false, client)
	if _, err := client.Dial(soon(t), l.Addr().String()); err != nil {
		t.Errorf("Dial, when it works again: %v", err)
	}
}

// All channels of a context move at the same time: more than it opens connections at a time.
func TestManyMove(t *testing.T) {
	const count = 2*maxOpening + 10
	cfg := Config{Channels: count, Window: minWindow, Calls: 4, Patience: 8 * time.Second}
	server, client := open(t, cfg), open(t, cfg)
	l := listen(t, server)
	var serving, calls sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	serving.Go(func() { _ = l.Serve(ctx, echo) })
	defer serving.Wait()
	defer stop()
	all := make([]*Channel, count)
	for i := range all {
		var err error
		if all[i], err = client.Dial(soon(t), l.Addr().String()); err != nil {
			t.Fatal(err)
		}
	}
	cut(true, client, server)
	for _, ch := range all {
		calls.Go(func() {
			m, err := ch.Call(soon(t), []byte("x"))
			if err != nil {
				t.Error(err)
				return
			}
			m.Release()
		})
	}
	calls.Wait()
	if n := client.Stats().OnTCP; n == 0 {
		t.Error("no channel is on TCP")
	}
	cut(false, client, server)
}

// Who has no TCP says why.
func TestNoTCP(t *testing.T) {
	for name, test := range map[string]struct {
		client, server Mock
		want           string
	}{
		"off here":        {MockOff, MockAuto, "Config.Mock is off"},
		"off at the peer": {MockAuto, MockOff, "the peer offers none"},
	} {
		t.Run(name, func(t *testing.T) {
			l := listen(t, open(t, Config{Mock: test.server}))
			ch, err := open(t, Config{Mock: test.client}).Dial(soon(t), l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			err = ch.SetCarrier(soon(t), CarrierTCP)
			if !errors.Is(err, ErrNoTCP) || !bytes.Contains([]byte(err.Error()), []byte(test.want)) {
				t.Errorf("%v; want %q", err, test.want)
			}
		})
	}
	t.Run("no such engine", func(t *testing.T) {
		network := loopnet.New(loopnet.Options{})
		server, client := network.Open(), network.Open()
		defer server.Close()
		defer client.Close()
		l := listen(t, open(t, Config{Device: server}))
		ch, err := open(t, Config{Device: client}).Dial(soon(t), l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		err = ch.SetCarrier(soon(t), CarrierTCP)
		if !errors.Is(err, ErrNoTCP) || !bytes.Contains([]byte(err.Error()), []byte("engine loopnet")) {
			t.Errorf("%v", err)
		}
		if err := ch.qp.Divert(nil); !errors.Is(err, verbs.ErrNoDetour) {
			t.Errorf("Divert: %v", err)
		}
	})
	if c := open(t, Config{Mock: MockOff}); c.streams != nil {
		t.Error("a context without Mock listens on TCP")
	}
}

// A port that is in use is told when the context is opened.
func TestMockPortInUse(t *testing.T) {
	c := open(t, Config{})
	_, err := Open(Config{MockPort: int(c.streams.port())})
	if err == nil || !bytes.Contains([]byte(err.Error()), []byte("MockPort")) {
		t.Errorf("Open: %v", err)
	}
}

// A peer whose hello ends before the TCP port stays on UDP.
func TestHelloWithoutTCP(t *testing.T) {
	h := hello{small: 100, maxMessage: 1000, window: 4}
	for _, b := range [][]byte{h.bytes(), append(h.bytes(), 1, 2, 3)} {
		var got hello
		if err := got.parse(b); err != nil || got != h {
			t.Errorf("%v reads as %+v, %v", b, got, err)
		}
	}
	h.tcpPort, h.token = 7, token{1, 2, 3}
	var got hello
	if err := got.parse(append(h.bytes(), 9)); err != nil || got != h {
		t.Errorf("with TCP: %+v, %v", got, err)
	}
	if n := len(h.bytes()); n > 40 {
		t.Errorf("%d bytes do not fit a request", n)
	}
}
