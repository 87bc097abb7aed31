package braid

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braid-rdma/braid/internal/loopnet"
	"github.com/braid-rdma/braid/udp"
	"github.com/braid-rdma/braid/verbs"
)

// kinds runs a test with both kinds of queue pairs.
func kinds(t *testing.T, test func(*testing.T, Config)) {
	t.Run("MP", func(t *testing.T) { test(t, Config{}) })
	// The default gives RC half a second in all; a busy machine may need that to run the peer once.
	t.Run("RC", func(t *testing.T) { test(t, Config{SinglePath: true, Patience: 4 * time.Second}) })
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
		}
		setCarrier(t, a, CarrierTCP)
		wantMove(t, atB, CarrierTCP, MovedByPeer)
		setCarrier(t, a, CarrierUDP)
		wantMove(t, atB, CarrierUDP, MovedByPeer)
		exchange(t, a, b, 1000)
		if s := a.Stats(); s.OnTCP || s.Moves != 6 || s.LastMove != MovedOnCommand {
			t.Errorf("in the end: on TCP %v, %d moves, the last %v", s.OnTCP, s.Moves, s.LastMove)
		}
	})
}

// traffic sends messages with numbers, calls, reads and writes between two channels, until it is
// told to stop. Each message comes once and in order, and nothing fails.
type traffic struct {
	t        *testing.T
	stop     chan struct{}
	running  sync.WaitGroup
	callers  sync.WaitGroup
	messages atomic.Uint64
	calls    atomic.Uint64
	writes   atomic.Uint64
}

func startTraffic(t *testing.T, a, b *Channel, seed uint64) *traffic {
	tr := &traffic{t: t, stop: make(chan struct{})}
	for i := range 4 {
		tr.callers.Go(func() { tr.call(a, rand.New(rand.NewPCG(seed, uint64(10+i)))) })
	}
	for i, way := range [][2]*Channel{{a, b}, {b, a}} {
		last := make(chan uint64, 1)
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		tr.running.Go(func() { tr.send(way[0], r, last) })
		tr.running.Go(func() { tr.receive(way[1], last) })
	}
	memory, err := b.context.Alloc(1<<20, CanRead|CanWrite|CanAtomic)
	if err != nil {
		t.Fatal(err)
	}
	tr.running.Go(func() { tr.oneSided(a, memory, rand.New(rand.NewPCG(seed, 20))) })
	t.Cleanup(func() {
		memory.Close()
		if t.Failed() {
			for _, ch := range []*Channel{a, b} {
				u, _ := udp.StatsOf(ch.context.device)
				u.Paths = nil
				t.Logf("%+v\n%+v\n%+v", ch.Stats(), ch.qp.Stats(), u)
			}
		}
	})
	return tr
}

func (tr *traffic) stopped() bool {
	select {
	case <-tr.stop:
		return true
	default:
		return tr.t.Failed()
	}
}

// end stops the traffic; what was begun ends well.
func (tr *traffic) end() {
	close(tr.stop)
	tr.running.Wait()
}

// progress waits until some of everything has happened.
func (tr *traffic) progress() {
	tr.t.Helper()
	m, c, w := tr.messages.Load(), tr.calls.Load(), tr.writes.Load()
	deadline := time.Now().Add(60 * time.Second)
	for tr.messages.Load() < m+20 || tr.calls.Load() < c+20 || tr.writes.Load() < w+5 {
		if tr.t.Failed() {
			return
		}
		if time.Now().After(deadline) {
			tr.t.Fatalf("the traffic stands: %d messages, %d calls, %d writes", tr.messages.Load()-m, tr.calls.Load()-c, tr.writes.Load()-w)
		}
		time.Sleep(time.Millisecond)
	}
}

func someLength(r *rand.Rand) int {
	if r.IntN(20) == 0 {
		return r.IntN(200_000)
	}
	return r.IntN(2000)
}

func (tr *traffic) send(ch *Channel, r *rand.Rand, last chan<- uint64) {
	number := uint64(0)
	for !tr.stopped() {
		number++
		if err := ch.Send(soon(tr.t), message(number, someLength(r))); err != nil {
			tr.t.Errorf("message %d: %v", number, err)
			break
		}
	}
	last <- number
	tr.callers.Wait()                                          // who receives the last message responds to no further call
	if err := ch.Send(soon(tr.t), message(0, 8)); err != nil { // the end
		tr.t.Errorf("the last message: %v", err)
	}
}

func (tr *traffic) receive(ch *Channel, last <-chan uint64) {
	for want := uint64(1); ; {
		m, err := ch.Receive(soon(tr.t))
		if err != nil {
			tr.t.Errorf("instead of message %d: %v", want, err)
			return
		}
		number := binary.BigEndian.Uint64(m.Bytes())
		if !bytes.Equal(m.Bytes(), message(number, m.Len())) {
			tr.t.Errorf("message %d is damaged", number)
		}
		if m.IsCall() {
			if err := m.Reply(soon(tr.t), m.Bytes()); err != nil {
				tr.t.Errorf("reply: %v", err)
			}
			m.Release()
			continue
		}
		m.Release()
		if number == 0 {
			if n := <-last; n != want-1 {
				tr.t.Errorf("%d messages of %d arrive", want-1, n)
			}
			return
		}
		if number != want {
			tr.t.Errorf("message %d comes instead of %d", number, want)
			return
		}
		want++
		tr.messages.Add(1)
	}
}

func (tr *traffic) call(ch *Channel, r *rand.Rand) {
	for !tr.stopped() {
		want := message(r.Uint64()>>1, someLength(r))
		m, err := ch.Call(soon(tr.t), want)
		if err != nil {
			tr.t.Errorf("call: %v", err)
			return
		}
		if !bytes.Equal(m.Bytes(), want) {
			tr.t.Errorf("a call of %d bytes gets %d others", len(want), m.Len())
		}
		m.Release()
		tr.calls.Add(1)
	}
}

// oneSided writes and reads, and counts in the peer's memory: an addition that ran twice would show.
func (tr *traffic) oneSided(ch *Channel, memory *Memory, r *rand.Rand) {
	counter, area := memory.Remote().Slice(0, 8), memory.Remote().Slice(8, 1<<20)
	for count := uint64(0); !tr.stopped(); count++ {
		old, err := ch.FetchAdd(soon(tr.t), counter, 1)
		if err != nil || old != count {
			tr.t.Errorf("addition %d: %d, %v", count, old, err)
			return
		}
		want := message(count, 1+r.IntN(50_000))
		if err := ch.Write(soon(tr.t), want, area.Slice(0, len(want))); err != nil {
			tr.t.Errorf("write: %v", err)
			return
		}
		got := make([]byte, len(want))
		if err := ch.Read(soon(tr.t), got, area.Slice(0, len(got))); err != nil {
			tr.t.Errorf("read: %v", err)
			return
		}
		if !bytes.Equal(got, want) {
			tr.t.Errorf("%d bytes are read that were not written", len(got))
		}
		tr.writes.Add(1)
	}
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
		for range 16 {
			ch := a
			if r.IntN(2) == 0 {
				ch = b
			}
			to := []Carrier{CarrierTCP, CarrierTCP, CarrierUDP, CarrierAuto}[r.IntN(4)]
			// Both ends may open a connection at the same time, of which one is refused.
			if err := ch.SetCarrier(soon(t), to); err != nil && !errors.Is(err, ErrNoTCP) {
				t.Fatalf("to %v: %v", to, err)
			}
			if r.IntN(3) > 0 {
				tr.progress()
			}
		}
		if a.Stats().Moves+b.Stats().Moves < 4 {
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
