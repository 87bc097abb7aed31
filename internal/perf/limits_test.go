package perf

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braid-rdma/braid"
	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/internal/control"
	"github.com/braid-rdma/braid/verbs"
)

func TestBudget(t *testing.T) {
	a, b := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	budget := newBudget(Limits{Sessions: 8, Memory: 4000})
	enter := func(client netip.Addr, want error) *grant {
		t.Helper()
		g, err := budget.enter(client)
		if !errors.Is(err, want) {
			t.Fatalf("%v enters: %v, want %v", client, err, want)
		}
		return g
	}
	first, second := enter(a, nil), enter(a, nil)
	enter(a, ErrBusy) // a quarter of the sessions
	other := enter(b, nil)
	if err := first.reserve(1001); !errors.Is(err, ErrSpec) {
		t.Errorf("more than a client may ever have: %v, want ErrSpec", err)
	}
	if err := first.reserve(600); err != nil {
		t.Error(err)
	}
	if err := second.reserve(600); !errors.Is(err, ErrBusy) {
		t.Errorf("more than is left of a client's share: %v, want ErrBusy", err)
	}
	if err := other.reserve(1000); err != nil {
		t.Errorf("another client: %v", err)
	}
	first.release()
	if err := second.reserve(1000); err != nil {
		t.Errorf("after a release: %v", err)
	}
	second.release()
	other.release()
	if budget.all != (usage{}) || len(budget.clients) != 0 {
		t.Errorf("left over: %+v, %v", budget.all, budget.clients)
	}
}

// Addresses that differ only in how they are written have one share.
func TestBudgetKnowsAddressesByValue(t *testing.T) {
	budget := newBudget(Limits{Sessions: 4})
	if _, err := budget.enter(netip.MustParseAddr("192.0.2.1")); err != nil {
		t.Fatal(err)
	}
	if _, err := budget.enter(netip.MustParseAddr("::ffff:192.0.2.1")); !errors.Is(err, ErrBusy) {
		t.Errorf("%v, want ErrBusy", err)
	}
}

func TestAllSharesTogetherAreBounded(t *testing.T) {
	budget := newBudget(Limits{Sessions: 8})
	held := 0
	addr := netip.MustParseAddr("192.0.2.1")
	for range 20 {
		for range 3 {
			if _, err := budget.enter(addr); err == nil {
				held++
			}
		}
		addr = addr.Next()
	}
	if held != 8 {
		t.Errorf("%d sessions, want 8", held)
	}
}

func TestWatchIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		activity := func() uint64 { // something arrives for a minute
			return uint64(min(time.Since(began), time.Minute) / time.Second)
		}
		ctx, stop := watchIdle(t.Context(), 10*time.Second, activity)
		defer stop()
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), ErrIdle) {
			t.Errorf("cause %v, want ErrIdle", context.Cause(ctx))
		}
		if lasted := time.Since(began); lasted < 70*time.Second || lasted > 75*time.Second {
			t.Errorf("ended after %v, want 10 s after the minute", lasted)
		}
	})
}

// another is a client at an address of its own, with its device open.
func (b *bench) another() *Client {
	b.t.Helper()
	c := &Client{Address: b.client.Address, Open: b.client.Open, routes: virtual}
	b.t.Cleanup(func() { c.Close() })
	if err := c.start(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	return c
}

// call asks the server for a test, from an address of its own.
func (b *bench) call() *connection {
	b.t.Helper()
	c := b.another()
	e, err := newEndpoint(c.device, Spec{Op: Write, Metric: Bandwidth}.WithDefaults(), 1)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(e.close)
	server, err := c.call(b.t.Context(), e)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(server.Close)
	return server
}

// Of five clients one is too many, and is told so.
func TestServerIsBusy(t *testing.T) {
	b := newBench(t, func(b *bench) { b.server.Limits = Limits{Sessions: 4} })
	refused := make(chan error, 5)
	for range cap(refused) {
		server := b.call()
		go func() { refused <- server.Result(t.Context(), new(any)) }()
	}
	err := <-refused
	var peer *braid.CallError
	if !errors.As(err, &peer) || !strings.Contains(err.Error(), "busy") {
		t.Errorf("%v, want a refusal that says busy", err)
	}
	select {
	case err := <-refused:
		t.Errorf("a second client is refused: %v", err)
	default:
	}
}

// halfOpen calls the server from an address of its own, and never completes the
// handshake.
func (b *bench) halfOpen() {
	b.t.Helper()
	d := b.network.Open()
	m, err := cm.New(d, cm.Config{})
	if err != nil {
		b.t.Fatal(err)
	}
	pd, err := d.CreatePD()
	if err != nil {
		b.t.Fatal(err)
	}
	cq, err := d.CreateCQ(16)
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	accepted, ended := make(chan struct{}), make(chan struct{})
	hello := []byte("brd\x02\x00\x00\x10\x00\x00\x10\x00\x00\x00\x04") // that of a channel
	go func() {
		defer close(ended)
		_, _ = m.Dial(ctx, b.client.Address, cm.Options{
			PD: pd, PrivateData: hello, QP: verbs.QPOptions{Type: verbs.MP, SendCQ: cq, SendDepth: 4, RecvDepth: 4},
			Prepare: func(*verbs.QP) error {
				close(accepted) // the server has granted it
				<-ctx.Done()
				return ctx.Err()
			},
		})
	}()
	b.t.Cleanup(func() {
		cancel()
		<-ended
		m.Close()
		d.Close()
	})
	select {
	case <-accepted:
	case <-time.After(2 * time.Minute):
		b.t.Fatal("the server grants nothing")
	}
}

// Clients that call and never say that they are ready take no session from those
// that do, however many they are.
func TestHalfOpenClientsTakeNoSession(t *testing.T) {
	b := newBench(t, func(b *bench) { b.server.Limits = Limits{Sessions: 4} })
	for range 70 {
		b.halfOpen()
	}
	if _, err := b.run(Spec{Op: Write, Metric: Bandwidth, Iterations: 10}); err != nil {
		t.Errorf("beside half-open clients: %v", err)
	}
}

// The first client of a server that serves once is one that is there.
func TestOnceIsForAClientThatIsThere(t *testing.T) {
	b := newBench(t, func(b *bench) { b.server.Once = true })
	b.halfOpen()
	if _, err := b.run(Spec{Op: Write, Metric: Bandwidth, Iterations: 10}); err != nil {
		t.Fatal(err)
	}
	if err := b.awaitEnd(); err != nil {
		t.Error(err)
	}
}

// testIdle is long enough for each step of a test on a busy machine.
const testIdle = 5 * time.Second

// Clients that hold all sessions and do nothing are ended, and others served.
func TestIdleClientsDoNotKeepOthersOut(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(b *bench) { b.server.Limits = Limits{Sessions: 4, Idle: testIdle} })
	var channels []*braid.Channel
	for range 4 {
		channel, err := control.Dial(t.Context(), b.another().context, b.client.Address)
		if err != nil {
			t.Fatal(err)
		}
		channels = append(channels, channel)
	}
	for _, channel := range channels {
		<-channel.Done()
		if err := channel.Err(); !errors.Is(err, braid.ErrPeerClosed) {
			t.Errorf("%v, want braid.ErrPeerClosed", err)
		}
	}
	for range channels {
		<-b.finish // a client is told of its end before the server is done with it
	}
	for _, err := range b.outcomes {
		if !errors.Is(err, ErrIdle) {
			t.Errorf("%v, want ErrIdle", err)
		}
	}
	if _, err := b.run(Spec{Op: Write, Metric: Bandwidth, Iterations: 10}); err != nil {
		t.Errorf("after idle clients were ended: %v", err)
	}
}

// A client may also fall silent when it has called, and when its test has begun. It is told
// why it is left.
func TestClientThatStopsInItsTest(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(b *bench) { b.server.Limits = Limits{Idle: testIdle} })
	called, begun := b.call(), b.call()
	if err := begun.join(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := begun.Send(t.Context(), msgGo, nil); err != nil {
		t.Fatal(err)
	}
	for _, server := range []*connection{called, begun} {
		var peer *braid.CallError
		if err := server.Result(t.Context(), new(any)); !errors.As(err, &peer) || !strings.Contains(peer.Reason, ErrIdle.Error()) {
			t.Errorf("%v, want that the server says %q", err, ErrIdle)
		}
	}
}

func TestMemoryOfAClientIsBounded(t *testing.T) {
	b := newBench(t, func(b *bench) { b.server.Limits = Limits{Memory: 64 << 20} })
	_, err := b.run(Spec{Op: Write, Metric: Bandwidth, Size: 16 << 20, Iterations: 1})
	var peer *braid.CallError
	if !errors.As(err, &peer) || !strings.Contains(peer.Reason, "--max-memory") {
		t.Errorf("%v, want that the server says what to do", err)
	}
	if _, err := b.run(Spec{Op: Write, Metric: Bandwidth, Size: 1 << 20, Iterations: 1}); err != nil {
		t.Errorf("a test within the limit: %v", err)
	}
}

// Nothing that Check allows is refused to a client that the server is there for.
func TestMemoryForOneClient(t *testing.T) {
	s := Spec{Op: Write, Metric: Bandwidth, Size: MaxSize, QPs: maxRegion / MaxSize, TxDepth: 1}.WithDefaults()
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	g, err := newBudget(Limits{Sessions: 1, Memory: MemoryForOneClient}).enter(netip.IPv4Unspecified())
	if err != nil {
		t.Fatal(err)
	}
	if err := g.reserve(s.memory()); err != nil {
		t.Error(err)
	}
}

// What a test costs is known before anything is allocated.
func TestSpecMemoryIsABound(t *testing.T) {
	for _, s := range []Spec{
		{Op: Write, Metric: Bandwidth, Size: MaxSize},
		{Op: Send, Metric: Bandwidth, QPs: MaxQPs, TxDepth: 8},
		{Op: Read, Metric: Bandwidth, Size: 1, QPs: 100},
	} {
		s = s.WithDefaults()
		if got, least := s.memory(), 2*int64(s.QPs)*int64(s.Size); got < least {
			t.Errorf("%+v: %d bytes, but its messages have %d", s, got, least)
		}
	}
}
