package braid

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/braid-rdma/braid/internal/loopnet"
	"github.com/braid-rdma/braid/operate"
	"github.com/braid-rdma/braid/transport"
)

// operatorOf is an operator at a context.
func operatorOf(t *testing.T, c *Context) *operate.Program {
	t.Helper()
	if c.offering == nil {
		t.Fatal("the context offers no socket")
	}
	p, err := operate.Dial(t.Context(), c.offering.Path())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// whyIs asks what limits a context until it is a certain cause: what a test has begun may take a moment.
func whyIs(t *testing.T, c *Context, want operate.Cause) {
	t.Helper()
	p := operatorOf(t, c)
	var found []operate.Finding
	for ctx := soon(t); ctx.Err() == nil; {
		e, err := p.Gather(ctx, 50*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		found = e.Explain()
		if slices.ContainsFunc(found, func(f operate.Finding) bool { return f.Cause == want }) {
			return
		}
	}
	t.Errorf("no %s in %+v", want, found)
}

// background runs f until the test is over.
func background(t *testing.T, f func(ctx context.Context)) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { f(ctx) })
	t.Cleanup(func() { stop(); running.Wait() })
}

// sendAll sends messages until the context ends.
func sendAll(ch *Channel, length int) func(ctx context.Context) {
	return func(ctx context.Context) {
		for ch.Send(ctx, make([]byte, length)) == nil {
		}
	}
}

// A program that does not take its messages is named at both ends.
func TestWhyNobodyReceives(t *testing.T) {
	statsDir(t)
	client, server := pair(t, Config{Linger: -1})
	background(t, sendAll(client, 100))
	whyIs(t, client.context, operate.CausePeerProgram)
	whyIs(t, server.context, operate.CauseOwnProgram)
}

// So is one whose handlers are slow.
func TestWhyHandlersAreSlow(t *testing.T) {
	statsDir(t)
	client, server := pair(t, Config{Calls: 2})
	background(t, func(ctx context.Context) {
		_ = server.Serve(ctx, func(context.Context, *Msg) ([]byte, error) {
			<-ctx.Done()
			return nil, nil
		})
	})
	for range 4 {
		background(t, func(ctx context.Context) { _, _ = client.Call(ctx, []byte("x")) })
	}
	whyIs(t, client.context, operate.CauseCallLimit)
	whyIs(t, server.context, operate.CauseOwnHandlers)
}

// One call that waits is the peer's matter.
func TestWhyNoResponse(t *testing.T) {
	statsDir(t)
	client, _ := pair(t, Config{Linger: -1})
	background(t, func(ctx context.Context) { _, _ = client.Call(ctx, []byte("x")) })
	whyIs(t, client.context, operate.CausePeerHandlers)
}

// Large messages that nobody takes use up the memory that there is for them.
func TestWhyMemoryIsFull(t *testing.T) {
	statsDir(t)
	client, server := pair(t, Config{Memory: 1 << 20, MaxMessage: 1 << 20, Linger: -1})
	for range 3 {
		background(t, sendAll(client, 1<<20))
	}
	whyIs(t, server.context, operate.CauseMemory)
}

// A handler that keeps the goroutine which polls is seen where that is measured.
func TestWhyPollsAreRare(t *testing.T) {
	statsDir(t)
	client, server := pair(t, Config{PollingWarn: time.Millisecond})
	background(t, func(ctx context.Context) {
		_ = server.Serve(ctx, func(context.Context, *Msg) ([]byte, error) {
			time.Sleep(30 * time.Millisecond)
			return nil, nil
		})
	})
	background(t, func(ctx context.Context) {
		for {
			if _, err := client.Call(ctx, []byte("x")); err != nil {
				return
			}
		}
	})
	whyIs(t, server.context, operate.CausePolls)
}

// Who asks for a channel is told of it, whatever many others do: samples are taken of a limited number of queue pairs.
func TestWhyOneOfMany(t *testing.T) {
	statsDir(t)
	c, l := open(t, Config{Linger: -1}), listen(t, open(t, Config{Linger: -1}))
	idle, _ := dialled(t, c, l)
	busy := make([]*Channel, 70)
	for i := range busy {
		var server *Channel
		busy[i], server = dialled(t, c, l)
		go server.Serve(t.Context(), echo)
	}
	for _, ch := range busy {
		background(t, sendAll(ch, 16<<10))
	}
	p := operatorOf(t, c)
	gather := func(of operate.Selection) *operate.Evidence {
		t.Helper()
		e, err := p.GatherOf(t.Context(), 10*time.Millisecond, of)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	has := func(q operate.QueuePair) bool { return q.Number == uint32(idle.qp.Number()) }
	if e := gather(operate.Selection{}); slices.ContainsFunc(e.QueuePairs, has) || len(e.QueuePairs) > 64 {
		t.Errorf("%d queue pairs, and the idle one is among the busiest", len(e.QueuePairs))
	}
	for _, of := range []operate.Selection{{Channels: []int{int(idle.number)}}, {QueuePairs: []uint32{uint32(idle.qp.Number())}}} {
		if e := gather(of); len(e.QueuePairs) != 1 || !has(e.QueuePairs[0]) || e.QueuePairs[0].Channel == nil || e.QueuePairs[0].Channel.Number != int(idle.number) {
			t.Errorf("%+v: %+v", of, e.QueuePairs)
		}
	}
	if e := gather(operate.Selection{Peers: []netip.Addr{netip.MustParseAddr("192.0.2.1")}}); len(e.QueuePairs) != 0 {
		t.Errorf("with a stranger: %+v", e.QueuePairs)
	}
	// On a slow machine some of the many may do nothing in the time that they are given.
	for ctx := soon(t); ; {
		e := gather(operate.Selection{Peers: []netip.Addr{idle.RemoteAddr().Addr()}})
		if e.Left > 0 && len(e.QueuePairs) == 64 {
			break
		}
		if e.Left > 0 || len(e.QueuePairs) > 64 || ctx.Err() != nil {
			t.Fatalf("with the peer of all: %d, and %d more", len(e.QueuePairs), e.Left)
		}
	}
	for _, wrong := range []int{1000, -1} {
		if _, err := p.GatherOf(t.Context(), 10*time.Millisecond, operate.Selection{Channels: []int{wrong}}); err == nil {
			t.Errorf("there is no channel %d", wrong)
		}
	}
}

// An operator changes parameters of a running context as Set does: as a whole, and checked.
func TestOperatorChangesParameters(t *testing.T) {
	statsDir(t)
	c := open(t, Config{Labels: "rack=3"})
	p := operatorOf(t, c)
	if p.Labels != "rack=3" {
		t.Errorf("the labels are %q", p.Labels)
	}
	_, err := p.Set(t.Context(), map[string]string{"keepalive": "7s", "window": "128", "linger": "x"}, "ann", false)
	var refused *operate.RefusedError
	if !errors.As(err, &refused) || c.Config().Keepalive == 7*time.Second {
		t.Errorf("a bad change: %v, and now %+v", err, c.Config())
	}
	change, err := p.Set(t.Context(), map[string]string{"keepalive": "7s", "memory": "64MiB"}, "ann", false)
	if err != nil || c.Config().Keepalive != 7*time.Second || c.Config().Memory != 64<<20 || change.Before["keepalive"] != "10s" {
		t.Errorf("%+v, %v", change, err)
	}
	if _, err := p.RollBack(t.Context(), 0, "ann"); err != nil || c.Config().Memory != 1<<30 {
		t.Errorf("after the roll-back %+v, %v", c.Config(), err)
	}
}

// An operator swaps path policy and congestion control while messages move; a name that is none is refused.
func TestOperatorSwapsPolicy(t *testing.T) {
	statsDir(t)
	client, server := pair(t, Config{Linger: -1})
	background(t, func(ctx context.Context) { _ = server.Serve(ctx, echo) })
	p := operatorOf(t, client.context)
	for _, values := range []map[string]string{{"policy": "Round-Robin"}, {"congestion_control": "dctcp", "policy": "spray"}, {"congestion_control": "mp-rdma", "policy": "ack-clock"}} {
		if _, err := p.Set(t.Context(), values, "ann", false); err != nil {
			t.Error(err)
		}
		for range 20 {
			m, err := client.Call(soon(t), make([]byte, 100<<10))
			if err != nil {
				t.Fatal(err)
			}
			m.Release()
		}
	}
	if _, err := p.Set(t.Context(), map[string]string{"policy": "dcqcn"}, "ann", false); err == nil {
		t.Error("there is no such policy")
	}
}

// An operator tries a program with a bad network, and makes it good again.
func TestOperatorSetsFilter(t *testing.T) {
	statsDir(t)
	client, server := pair(t, Config{Linger: -1})
	background(t, func(ctx context.Context) { _ = server.Serve(ctx, echo) })
	p := operatorOf(t, client.context)
	set := func(values map[string]string) error {
		_, err := p.Set(t.Context(), values, "ann", false)
		return err
	}
	for _, bad := range []string{"", "drop", "drop=2", "drop=x", "delay=5", "rot=1", ownFilter} {
		if err := set(map[string]string{"filter": bad, "keepalive": "7s"}); err == nil || client.context.Config().Keepalive == 7*time.Second {
			t.Errorf("filter %q: %v", bad, err)
		}
	}
	if err := set(map[string]string{"filter": "corrupt=1, seed=7", "keepalive": "7s"}); err != nil || client.context.Config().Keepalive != 7*time.Second {
		t.Error(err)
	}
	call := func() []byte {
		m, err := client.Call(soon(t), []byte("hello"))
		if err != nil {
			t.Fatal(err)
		}
		defer m.Release()
		return slices.Clone(m.Bytes())
	}
	if got := call(); string(got) == "hello" {
		t.Error("nothing was corrupted")
	}
	change, err := p.RollBack(t.Context(), 0, "ann")
	if err != nil || change.After["filter"] != noFilter || change.Before["filter"] != "drop=0,duplicate=0,corrupt=1,slow=0,delay=0s,seed=7" {
		t.Errorf("%+v, %v", change, err)
	}
	if got := call(); string(got) != "hello" {
		t.Errorf("%q", got)
	}
}

// A filter that is taken away delays nothing any more: the operator may have meant another time.
func TestOperatorEndsDelay(t *testing.T) {
	statsDir(t)
	client, server := pair(t, Config{Linger: -1})
	p := operatorOf(t, server.context)
	if _, err := p.Set(t.Context(), map[string]string{"filter": "slow=1,delay=1h"}, "ann", false); err != nil {
		t.Fatal(err)
	}
	if err := client.Send(soon(t), []byte("one")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the message is delayed", func() (delayed bool) {
		server.context.exclusive(func() { delayed = server.delayed.Len() > 0 })
		return delayed
	})
	if _, err := p.RollBack(t.Context(), 0, "ann"); err != nil {
		t.Fatal(err)
	}
	if err := client.Send(soon(t), []byte("two")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"one", "two"} {
		m, err := server.Receive(soon(t))
		if err != nil {
			t.Fatal(err)
		}
		if string(m.Bytes()) != want {
			t.Errorf("%q, want %q", m.Bytes(), want)
		}
		m.Release()
	}
}

// The names that stand for the defaults are those of the registry.
func TestDefaultPolicy(t *testing.T) {
	if p, c := transport.PathPolicies.Default().Name, transport.CongestionControls.Default().Name; p != defaultPolicy || c != defaultControl {
		t.Errorf("%s and %s", p, c)
	}
}

// A context that is told so offers nothing.
func TestNoOperator(t *testing.T) {
	statsDir(t)
	if c := open(t, Config{NoOperator: true}); c.offering != nil {
		t.Error("there is a socket")
	}
}

// An operator has all channels go by TCP, those to come as well, and back.
func TestOperatorSetsMock(t *testing.T) {
	statsDir(t)
	l := listen(t, open(t, Config{}))
	c := open(t, Config{})
	a, b := dialled(t, c, l)
	p := operatorOf(t, c)
	set := func(value string) error {
		_, err := p.Set(t.Context(), map[string]string{"mock": value, "keepalive": "7s"}, "ann", false)
		return err
	}
	for _, bad := range []string{"off", "pigeon", ""} {
		if err := set(bad); err == nil || c.Config().Keepalive == 7*time.Second {
			t.Errorf("mock=%s: %v, and now %+v", bad, err, c.Config())
		}
	}
	if err := set("tcp"); err != nil || !a.Stats().OnTCP || c.Config().Mock != MockTCP {
		t.Fatalf("mock=tcp: %v, %+v", err, a.Stats())
	}
	exchange(t, a, b, 100_000)
	whyIs(t, c, operate.CauseOnTCP)
	news := moves(c)
	later, peer := dialled(t, c, l)
	wantMove(t, news, CarrierTCP, MovedOnCommand)
	exchange(t, later, peer, 1000)
	if _, err := p.RollBack(t.Context(), 0, "ann"); err != nil || c.Config().Mock != MockAuto || c.Config().Keepalive == 7*time.Second {
		t.Errorf("after the roll-back %+v, %v", c.Config(), err)
	}
	wantMove(t, news, CarrierUDP, MovedBack)
	wantMove(t, news, CarrierUDP, MovedBack)
	exchange(t, a, b, 1000)
	if err := set("udp"); err != nil {
		t.Error(err)
	}
	exchange(t, a, b, 1000)
	if a.Stats().OnTCP || later.Stats().OnTCP {
		t.Error("on TCP in the end")
	}
}

// Where a channel cannot move, none does and nothing is changed: a peer that offers no TCP is known before, one whose port is closed is found out.
func TestOperatorMockRefused(t *testing.T) {
	statsDir(t)
	c := open(t, Config{})
	p := operatorOf(t, c)
	refused := func(dryRun bool, want string) {
		t.Helper()
		_, err := p.Set(t.Context(), map[string]string{"mock": "tcp", "keepalive": "7s", "filter": "drop=1"}, "ann", dryRun)
		var refusal *operate.RefusedError
		if !errors.As(err, &refusal) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if now := c.Config(); now.Mock != MockAuto || now.Keepalive == 7*time.Second {
			t.Errorf("refused, and now %+v", now)
		}
		c.exclusive(func() {
			if c.filter != nil {
				t.Error("refused, and there is a filter")
			}
		})
	}
	good, atGood := dialled(t, c, listen(t, open(t, Config{})))
	closed, atClosed := dialled(t, c, listen(t, open(t, Config{})))
	if err := atClosed.context.streams.listener.Close(); err != nil {
		t.Fatal(err)
	}
	refused(false, "1 of 2 channels do not move")
	exchange(t, good, atGood, 1000)
	exchange(t, closed, atClosed, 1000)
	dialled(t, c, listen(t, open(t, Config{Mock: MockOff})))
	refused(true, "the peers of 1 channels offer none")
	refused(false, "the peers of 1 channels offer none")
	if h, err := p.History(t.Context()); err != nil || len(h) != 0 {
		t.Errorf("%+v, %v: what was refused is remembered", h, err)
	}
}

// A context that was opened without TCP stays so, and one whose engine has none cannot be told to use it.
func TestMockStaysOff(t *testing.T) {
	c := open(t, Config{Mock: MockOff})
	for _, value := range []string{"auto", "tcp", "udp"} {
		if err := c.Set("mock", value); !errors.Is(err, ErrConfig) || c.Config().Mock != MockOff {
			t.Errorf("%s: %v", value, err)
		}
	}
	d := loopnet.New(loopnet.Options{}).Open()
	defer d.Close()
	if c, err := Open(Config{Device: d, Mock: MockTCP}); !errors.Is(err, ErrNoTCP) {
		t.Errorf("%v, %v", c, err)
	}
	if err := open(t, Config{Device: d}).Set("mock", "tcp"); !errors.Is(err, ErrNoTCP) {
		t.Error(err)
	}
}
