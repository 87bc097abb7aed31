package braid

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/cm/machine"
	"github.com/braid-rdma/braid/udp"
	"github.com/braid-rdma/braid/verbs"
)

// The rows of docs/faults.md that are about channels, by their numbers.

// disturb sets the loss and the corruption of all paths of contexts.
func disturb(loss, corruption float64, contexts ...*Context) {
	for _, c := range contexts {
		f := udp.FaultsOf(c.device)
		for path := range c.engine.Info().Paths {
			f.SetLoss(path, loss)
			f.SetCorruption(path, corruption)
		}
	}
}

// Row 19: a client dies when it has been granted its channel, and never says that it is ready.
func TestFault19HalfOpen(t *testing.T) {
	handshake = cm.Config{Machine: machine.Config{ReadyTimeout: 300 * time.Millisecond}}
	t.Cleanup(func() { handshake = cm.Config{} })
	c := open(t, Config{Channels: 1})
	l := listen(t, c)
	manager, options := stranger(t)
	options.PrivateData = (&hello{small: 4096, maxMessage: 1 << 20, window: 4}).bytes()
	options.Prepare = func(*verbs.QP) error { return manager.Device().Close() }
	if _, err := manager.Dial(soon(t), l.Addr().String(), options); err == nil {
		t.Fatal("a dead client is connected")
	}
	if n := c.Stats().Channels; n != 1 {
		t.Errorf("%d channels wait for their client", n)
	}
	wantFree(t, c)
	ch, err := open(t, Config{}).Dial(soon(t), l.Addr().String()) // there is but one place
	if err != nil {
		t.Fatal(err)
	}
	ch.Close()
}

// Row 20: all clients connect at once; BRAID_CHANNELS=4096 makes it as many as X-RDMA has.
func TestFault20Storm(t *testing.T) {
	n := channelCount(t, 256)
	cfg := Config{Channels: n, Window: 4, Calls: 4}
	server, client := open(t, cfg), open(t, cfg)
	l := listen(t, server)
	start := time.Now()
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			ch, err := client.Dial(soon(t), l.Addr().String())
			if err == nil {
				err = ch.Send(soon(t), binary.BigEndian.AppendUint32(nil, uint32(i)))
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	got := map[uint32]bool{}
	for range n {
		ch, err := l.Accept(soon(t))
		if err != nil {
			t.Fatal(err)
		}
		m, err := ch.Receive(soon(t))
		if err != nil {
			t.Fatal(err)
		}
		got[binary.BigEndian.Uint32(m.Bytes())] = true
		m.Release()
	}
	all.Wait()
	if len(got) != n {
		t.Errorf("%d of %d channels work", len(got), n)
	}
	t.Logf("%d channels in %v", n, time.Since(start))
}

// Row 20 once more: who is told that it is connected stays so, however long the program does not accept.
func TestFault20NobodyAccepts(t *testing.T) {
	const n = 300
	cfg := Config{Channels: n, Window: 4, Calls: 4}
	client, l := open(t, cfg), listen(t, open(t, cfg))
	for range n {
		if _, err := client.Dial(soon(t), l.Addr().String()); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		ch, err := l.Accept(soon(t))
		if err == nil {
			err = ch.Err()
		}
		if err != nil {
			t.Fatalf("channel %d: %v", i, err)
		}
	}
}

// Row 21: 50 of 50 channels are connected though a third of the packets is lost and a third
// damaged, in each direction.
func TestFault21BadNetwork(t *testing.T) {
	d := newDialer(t, Config{Linger: -1})
	disturb(0.3, 0.3, d.context, d.l.context)
	const n = 50
	channels := make([]*Channel, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			var err error
			if channels[i], err = d.context.Dial(soon(t), d.l.Addr().String()); err != nil {
				t.Error(err)
			}
		})
	}
	var peers []*Channel
	for range n {
		ch, err := d.l.Accept(soon(t))
		if err != nil {
			t.Fatal(err)
		}
		peers = append(peers, ch)
	}
	all.Wait()
	disturb(0, 0, d.context, d.l.context)
	for i, ch := range channels {
		if err := ch.Send(soon(t), []byte{byte(i)}); err != nil {
			t.Error(err)
		}
	}
	got := map[byte]bool{}
	for _, ch := range peers {
		m, err := ch.Receive(soon(t))
		if err != nil {
			t.Fatal(err)
		}
		got[m.Bytes()[0]] = true
		m.Release()
	}
	if len(got) != n {
		t.Errorf("%d of %d channels work", len(got), n)
	}
}

// Row 23: the peer starts anew, at the same address and port. The old channel ends, a new one works, and a key
// of the old incarnation opens nothing.
func TestFault23PeerRestarts(t *testing.T) {
	cfg := impatient
	cfg.Device = openAt(t, netip.Addr{})
	address := cfg.Device.Query().Local
	first := open(t, cfg)
	l := listen(t, first)
	port := l.Addr().Port()
	memory, err := first.Alloc(4096, CanRead)
	if err != nil {
		t.Fatal(err)
	}
	secret := memory.Remote()
	client := open(t, impatient)
	old, err := client.Dial(soon(t), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if err := old.Read(soon(t), make([]byte, 64), secret.Slice(0, 64)); err != nil {
		t.Fatal(err)
	}
	cfg.Device.Close() // nobody is told
	cfg.Device = openAt(t, address)
	second := open(t, cfg)
	if l, err = second.Listen(port); err != nil {
		t.Fatal(err)
	}
	if _, err := old.Call(soon(t), []byte("are you there?")); err == nil {
		t.Error("a call to the old incarnation succeeds")
	}
	<-old.Done()
	again, err := client.Dial(soon(t), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	peer, err := l.Accept(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Send(soon(t), []byte("anew")); err != nil {
		t.Fatal(err)
	}
	if m, err := peer.Receive(soon(t)); err != nil || string(m.Bytes()) != "anew" {
		t.Errorf("%v", err)
	}
	if err := again.Read(soon(t), make([]byte, 64), secret.Slice(0, 64)); !errors.Is(err, verbs.ErrRemoteAccess) {
		t.Errorf("an old key: %v", err)
	}
}

// openAt opens a device at an address, or at a free one of loopback.
func openAt(t *testing.T, address netip.Addr) *verbs.Device {
	t.Helper()
	dev, err := udp.Open(udp.Config{Addr: address, Loopback: !address.IsValid()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dev.Close() })
	return dev
}

// Row 24: a host falls silent while nothing is under way: both ends notice within keepalive and patience, but not before a
// peer that only stands still could have replied; and everything is free.
func TestFault24Silence(t *testing.T) {
	d := newDialer(t, impatient)
	a, b := d.connect(t)
	patience := patienceOf(a.qp)
	if patience < impatient.Patience || patience >= 2*impatient.Patience {
		t.Errorf("the patience is %v, want the next after %v that RDMA knows", patience, impatient.Patience)
	}
	start := time.Now()
	disturb(1, 0, d.context, d.l.context)
	for _, ch := range []*Channel{a, b} {
		<-ch.Done()
		if !errors.Is(ch.Err(), verbs.ErrRetryExceeded) {
			t.Errorf("ended with %v", ch.Err())
		}
	}
	took, within := time.Since(start), impatient.Keepalive+patience
	t.Logf("noticed within %v", took)
	if took > 3*within || took < patience/2 { // each of eight timers may be late on a machine that is busy
		t.Errorf("noticed after %v, want %v", took, within)
	}
	wantFree(t, d.context)
	wantFree(t, d.l.context)
}

// Rows 25 and 27: the peer stands still for a time, as a process does that is stopped or collects
// garbage. Within the patience every call succeeds, and is handled once; beyond it each fails.
func TestFault25PeerStandsStill(t *testing.T) {
	p := startServer(t)
	for _, still := range []time.Duration{10 * time.Millisecond, 100 * time.Millisecond, 500 * time.Millisecond, time.Second} {
		calls := p.callAll(t, 4)
		p.stop(t)
		time.Sleep(still)
		p.resume(t)
		eventually(t, "calls succeed again", calls.progress())
		if calls.stop(); calls.failed != nil {
			t.Errorf("%v: %v", still, calls.failed)
		}
	}
	calls := p.callAll(t, 4)
	p.stop(t)
	<-p.channel.Done() // for ever
	calls.stop()
	if calls.failed == nil || !errors.Is(p.channel.Err(), verbs.ErrRetryExceeded) {
		t.Errorf("calls end with %v, the channel with %v", calls.failed, p.channel.Err())
	}
	p.resume(t)
	p.check(t)
}

func (s *server) stop(t *testing.T) { s.signal(t, syscall.SIGSTOP) }

func (s *server) resume(t *testing.T) { s.signal(t, syscall.SIGCONT) }

func (s *server) signal(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if err := s.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

// Row 31: nobody polls and nobody receives. Everything waits, within bounds, and nothing is lost.
func TestFault31NobodyPolls(t *testing.T) {
	cfg := Config{Window: 8, Calls: 4, Channels: 8}
	d := newDialer(t, cfg)
	const n = 100
	var all sync.WaitGroup
	var peers []*Channel
	for range cfg.Channels {
		a, b := d.connect(t)
		peers = append(peers, b)
		all.Go(func() {
			for i := range n {
				if err := a.Send(soon(t), bytes.Repeat([]byte{byte(i)}, 40*i)); err != nil {
					t.Error(err)
					return
				}
			}
		})
		eventually(t, "the window is full", func() bool { return a.Stats().Blocked > 0 })
	}
	c := d.l.context
	if s := c.Stats(); c.cq.Lost() != 0 || s.FrameBytes > 2*regionBytes {
		t.Errorf("%d completions are lost; %+v", c.cq.Lost(), s)
	}
	for _, b := range peers {
		for i := range n {
			m, err := b.Receive(soon(t))
			if err != nil || m.Len() != 40*i {
				t.Fatalf("message %d: %v", i, err)
			}
			m.Release()
		}
	}
	all.Wait()
}

// Row 37: all paths are cut. A channel whose paths come back within its patience goes on, and nothing is
// lost or comes twice; one whose paths do not, ends.
func TestFault37AllPathsCut(t *testing.T) {
	d := newDialer(t, Config{Patience: 4 * time.Second, Linger: -1})
	a, b := d.connect(t)
	const n, cutAt, large = 300, 100, 200 << 10
	sent := make(chan error, 1)
	go func() {
		for i := range n {
			length := 64
			if i%10 == 0 {
				length = large
			}
			if err := a.Send(soon(t), message(uint64(i), length)); err != nil {
				sent <- fmt.Errorf("message %d: %w", i, err)
				return
			}
		}
		sent <- nil
	}()
	for i := range n {
		if i == cutAt {
			disturb(1, 0, d.context, d.l.context)
			time.AfterFunc(2*time.Second, func() { disturb(0, 0, d.context, d.l.context) })
		}
		m, err := b.Receive(soon(t))
		if err != nil {
			t.Fatal(err)
		}
		if number := binary.BigEndian.Uint64(m.Bytes()); number != uint64(i) || !bytes.Equal(m.Bytes(), message(number, m.Len())) {
			t.Fatalf("message %d comes in the place of %d, or is damaged", number, i)
		}
		m.Release()
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	disturb(1, 0, d.context, d.l.context)
	if _, err := a.Call(soon(t), make([]byte, large)); !errors.Is(err, verbs.ErrRetryExceeded) {
		t.Errorf("a call over no path: %v", err)
	}
	<-b.Done()
	wantFree(t, d.context)
	wantFree(t, d.l.context)
	disturb(0, 0, d.context, d.l.context)
	endBoth(d.connect(t))
}

// Row 55: a channel is closed while large messages, calls and READs are under way, from either end, several times at once,
// and by a handler of its own. Everything returns, and all is free.
func TestFault55CloseInFlight(t *testing.T) {
	for name, shut := range map[string]func(a, b *Channel){
		"the sender":       func(a, _ *Channel) { a.Close() },
		"the receiver":     func(_, b *Channel) { b.Close() },
		"both":             func(a, b *Channel) { go a.Close(); b.Close() },
		"the same, thrice": func(a, _ *Channel) { go a.Close(); go a.Close(); a.Close() },
		"its context":      func(a, _ *Channel) { a.Context().Close() },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDialer(t, Config{Linger: -1})
			a, b := d.connect(t)
			memory, err := b.Context().Alloc(2<<20, CanRead)
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			var all sync.WaitGroup
			all.Go(func() { _ = b.Serve(ctx, echo) })
			for range 3 {
				all.Go(func() {
					for buffer := make([]byte, memory.Remote().Len()); a.Read(soon(t), buffer, memory.Remote()) == nil; {
					}
				})
				all.Go(func() {
					for request := payload(600 << 10); ; {
						m, err := a.Call(soon(t), request)
						if err != nil {
							return
						}
						m.Release()
					}
				})
				all.Go(func() {
					for a.Send(soon(t), payload(400<<10)) == nil {
					}
				})
			}
			eventually(t, "large messages have come", func() bool { return b.Stats().FetchedBytes > 2<<20 })
			shut(a, b)
			<-a.Done()
			<-b.Done()
			all.Wait()
			stop()
			a.Close()
			b.Close()
			wantFree(t, b.Context())
			if name != "its context" {
				wantFree(t, a.Context())
			}
		})
	}
	t.Run("a handler", func(t *testing.T) {
		d := newDialer(t, Config{Linger: -1})
		a, b := d.connect(t)
		closed := make(chan struct{})
		go b.Serve(t.Context(), func(context.Context, *Msg) ([]byte, error) {
			b.Close()
			close(closed)
			return nil, nil
		})
		if _, err := a.Call(soon(t), []byte("close")); err == nil {
			t.Error("a call succeeds whose channel its handler has closed")
		}
		<-closed
		a.Close()
		wantFree(t, d.context)
		wantFree(t, d.l.context)
	})
}

// Row 56: a later version that only says more is understood; one that means something else is refused, in words,
// whichever side it is on.
func TestFault56VersionSkew(t *testing.T) {
	l := listen(t, open(t, Config{}))
	manager, options := stranger(t)
	known := hello{small: 4096, maxMessage: 1 << 20, window: 4}
	options.PrivateData = append(known.bytes(), "and more"...)
	if _, err := manager.Dial(soon(t), l.Addr().String(), options); err != nil {
		t.Errorf("a peer that says more: %v", err)
	}
	later := known.bytes()
	later[3] = helloVersion + 1
	options.PrivateData = later
	var reject *cm.RejectError
	if _, err := manager.Dial(soon(t), l.Addr().String(), options); !errors.As(err, &reject) || !bytes.Contains(reject.PrivateData, []byte("version")) {
		t.Errorf("a peer of a later version: %v", err)
	}
	there, err := manager.Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	for _, answer := range [][]byte{later, nil} {
		options.PrivateData = answer
		go there.Accept(soon(t), options)
		c := open(t, Config{})
		if _, err := c.Dial(soon(t), there.Addr().String()); !errors.Is(err, ErrNotBraid) {
			t.Errorf("a listener that says %q: %v", answer, err)
		}
		wantFree(t, c)
	}
}
