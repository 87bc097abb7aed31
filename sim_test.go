package braid

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/sim/topology"
)

// datacenter is a simulated one in which programs use this package.
type datacenter struct {
	t    *testing.T
	net  *sim.Network
	log  []string
	left int // programs
}

func newDatacenter(t *testing.T, seed uint64) *datacenter {
	t.Helper()
	return newDatacenterOf(t, sim.Config{Seed: seed, MTU: 1024, Verify: true})
}

func newDatacenterOf(t *testing.T, cfg sim.Config) *datacenter {
	t.Helper()
	return newDatacenterOver(t, cfg, topology.Microsecond)
}

// newDatacenterOver has links of a delay, in picoseconds.
func newDatacenterOver(t *testing.T, cfg sim.Config, delay int64) *datacenter {
	t.Helper()
	graph, err := topology.LeafSpine{
		Leaves: 2, HostsPerLeaf: 1, Spines: 2, HostRate: 10e9, HostDelay: delay, FabricDelay: delay,
	}.Build()
	if err != nil {
		t.Fatal(err)
	}
	net, err := sim.New(graph, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &datacenter{t: t, net: net}
}

// impair makes the first link of each host lose packets.
func (d *datacenter) impair(i sim.Impairment) {
	d.t.Helper()
	for _, l := range d.net.Links()[:1] {
		if err := d.net.Impair(1, fmt.Sprintf("%s-%s", l.From, l.To), sim.Both, i); err != nil {
			d.t.Fatal(err)
		}
	}
}

// program runs on a host, with a context of its own.
func (d *datacenter) program(host int, cfg Config, f func(c *Context) error) {
	d.left++
	cfg.Device = d.net.Device(host)
	if err := d.net.Go(host, func() {
		c, err := Open(cfg)
		if err == nil {
			if err = f(c); err == nil {
				err = c.Close()
			}
		}
		if err != nil {
			d.t.Errorf("host %d, at %v: %v", host, d.net.Now(), err)
		}
		d.left--
	}); err != nil {
		d.t.Fatal(err)
	}
}

func (d *datacenter) say(format string, args ...any) {
	d.log = append(d.log, fmt.Sprintf("%v %s", d.net.Now(), fmt.Sprintf(format, args...)))
}

// run runs the simulation until the programs have ended.
func (d *datacenter) run(limit sim.Time) {
	d.t.Helper()
	for d.left > 0 && d.net.Now() < limit {
		d.net.Run(d.net.Now() + 100*sim.Millisecond)
	}
	if d.left > 0 {
		d.t.Errorf("%d programs have not ended after %v:\n%s", d.left, d.net.Now(), strings.Join(d.log, "\n"))
		d.net.Kill(0)
		d.net.Kill(1)
	}
}

// converse runs a server and a client with all kinds of messages on a network that loses some packets.
func converse(t *testing.T, seed uint64) []string {
	d := newDatacenter(t, seed)
	d.impair(sim.Impairment{Loss: 0.02})
	large := bytes.Repeat([]byte("large "), 30_000)
	d.program(1, Config{Channels: 4}, func(c *Context) error {
		l, err := c.Listen(7174)
		if err != nil {
			return err
		}
		err = l.Serve(t.Context(), func(_ context.Context, m *Msg) ([]byte, error) {
			d.say("server has %d bytes, a call: %v", m.Len(), m.IsCall())
			switch {
			case m.Len() == 3:
				return nil, errors.New("no")
			case m.Len() == 4:
				d.net.Sleep(1, 50*sim.Millisecond)
			case !m.IsCall():
				l.Close()
			}
			return bytes.ToUpper(m.Bytes()), nil
		})
		if !errors.Is(err, ErrClosed) {
			return err
		}
		return nil
	})
	d.program(0, Config{Channels: 4}, func(c *Context) error {
		ch, err := c.Dial(t.Context(), "10.0.0.2:7174")
		if err != nil {
			return err
		}
		for _, message := range [][]byte{[]byte("hello"), large} {
			reply, err := ch.Call(t.Context(), message)
			if err != nil {
				return err
			}
			if !bytes.Equal(reply.Bytes(), bytes.ToUpper(message)) {
				t.Errorf("%d bytes came back as %d others", len(message), reply.Len())
			}
			d.say("client has %d bytes", reply.Len())
			reply.Release()
		}
		if _, err := ch.Call(t.Context(), []byte("bad")); err == nil {
			t.Error("a call that fails succeeded")
		}
		ctx, cancel := c.runtime.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		_, err = ch.Call(ctx, []byte("slow"))
		d.say("client: %v", err)
		return ch.Send(t.Context(), []byte("goodbye"))
	})
	d.run(20 * sim.Second)
	return d.log
}

// TestSimulated: contexts on simulated hosts talk through a lossy network, and a seed gives the
// same conversation again.
func TestSimulated(t *testing.T) {
	for seed := range uint64(5) {
		first, again := converse(t, seed), converse(t, seed)
		if strings.Join(first, "\n") != strings.Join(again, "\n") {
			t.Errorf("seed %d:\n%s\n\nand then\n%s", seed, strings.Join(first, "\n"), strings.Join(again, "\n"))
		}
		if seed == 0 {
			t.Log(strings.Join(first, "\n"))
		}
	}
}

// TestOneSidedTellsWhy: an operation that ends because the peer has closed the channel says so.
func TestOneSidedTellsWhy(t *testing.T) {
	d := newDatacenter(t, 1)
	var remote Remote
	d.program(1, Config{Channels: 4}, func(c *Context) error {
		m, err := c.Alloc(1<<20, CanRead)
		if err != nil {
			return err
		}
		remote = m.Remote()
		l, err := c.Listen(7174)
		if err != nil {
			return err
		}
		ch, err := l.Accept(t.Context())
		if err != nil {
			return err
		}
		d.net.Sleep(1, 200*sim.Microsecond)
		return ch.Close()
	})
	d.program(0, Config{Channels: 4}, func(c *Context) error {
		ch, err := c.Dial(t.Context(), "10.0.0.2:7174")
		if err != nil {
			return err
		}
		for err == nil {
			err = ch.Read(t.Context(), make([]byte, 1<<20), remote)
		}
		if !errors.Is(err, ErrPeerClosed) {
			return err
		}
		return nil
	})
	d.run(20 * sim.Second)
}

// TestFlushWaitsForAll: responses overtake messages that wait; Flush waits for those as well.
func TestFlushWaitsForAll(t *testing.T) {
	d := newDatacenter(t, 1)
	cfg := Config{Channels: 4, Calls: 1}
	received := 0
	serve := func(ch *Channel, host int) {
		ch.context.background.Go(func() {
			_ = ch.Serve(t.Context(), func(_ context.Context, m *Msg) ([]byte, error) {
				if !m.IsCall() {
					received++
				} else if host == 1 {
					d.net.Sleep(1, 10*sim.Millisecond)
				}
				return nil, nil
			})
		})
	}
	d.program(1, cfg, func(c *Context) error {
		l, err := c.Listen(7174)
		if err != nil {
			return err
		}
		ch, err := l.Accept(t.Context())
		if err != nil {
			return err
		}
		serve(ch, 1)
		d.net.Sleep(1, 2*sim.Millisecond)
		_, err = ch.Call(t.Context(), []byte("its response overtakes"))
		c.runtime.Select(t.Context(), ch.gone)
		return err
	})
	d.program(0, cfg, func(c *Context) error {
		ch, err := c.Dial(t.Context(), "10.0.0.2:7174")
		if err != nil {
			return err
		}
		serve(ch, 0)
		for range 2 { // the second waits for the end of the first
			c.background.Go(func() { _, _ = ch.Call(t.Context(), []byte("call")) })
		}
		d.net.Sleep(0, sim.Microsecond)
		c.background.Go(func() { _ = ch.Send(t.Context(), []byte("waits behind the calls")) })
		d.net.Sleep(0, sim.Microsecond)
		if err := ch.Flush(t.Context()); err != nil {
			return err
		}
		if received != 1 {
			t.Errorf("Flush returns when %d messages of 1 are received", received)
		}
		return nil
	})
	d.run(20 * sim.Second)
}

// TestHandshakeOfTheDead: a peer that has sent messages, but dies before its handshake is complete,
// leaves nothing.
func TestHandshakeOfTheDead(t *testing.T) {
	large := bytes.Repeat([]byte("large "), 1000)
	for seed := range uint64(40) {
		d := newDatacenter(t, seed)
		d.impair(sim.Impairment{Loss: 0.3})
		d.program(1, Config{Channels: 4, Keepalive: time.Second}, func(c *Context) error {
			l, err := c.Listen(7174)
			if err != nil {
				return err
			}
			d.net.Sleep(1, 60*sim.Second)
			l.Close()
			d.net.Sleep(1, 10*sim.Second)
			if s := c.Stats(); s.Channels > 0 || s.PendingBytes > 0 || s.UnusedBytes < s.BufferBytes || s.UnusedFrameBytes < s.FrameBytes {
				t.Errorf("seed %d: %+v", seed, s)
			}
			return nil
		})
		d.program(0, Config{Channels: 4}, func(c *Context) error {
			ch, err := c.Dial(t.Context(), "10.0.0.2:7174")
			for err == nil {
				err = ch.Send(t.Context(), large)
			}
			return err
		})
		if err := d.net.At(5*sim.Millisecond, 0, func() {
			d.impair(sim.Impairment{Down: true})
			d.net.Kill(0)
			d.left--
		}); err != nil {
			t.Fatal(err)
		}
		d.run(100 * sim.Second)
	}
}

// listenWithoutCalls listens, and has a filter lose all calls.
func listenWithoutCalls(c *Context) (*Listener, error) {
	if err := c.SetFilter(&Filter{Drop: 1, Match: (*Msg).IsCall}); err != nil {
		return nil, err
	}
	return c.Listen(7174)
}

// TestFilterLosesCalls: a channel on which a filter has lost as many calls as there may be takes
// others when they have been given up.
func TestFilterLosesCalls(t *testing.T) {
	d := newDatacenter(t, 1)
	cfg := Config{Channels: 4, Calls: 1}
	d.program(1, cfg, func(c *Context) error {
		l, err := listenWithoutCalls(c)
		if err != nil {
			return err
		}
		err = l.Serve(t.Context(), func(_ context.Context, m *Msg) ([]byte, error) {
			if m.IsCall() {
				l.Close()
			}
			return nil, c.SetFilter(nil)
		})
		if !errors.Is(err, ErrClosed) {
			return err
		}
		return nil
	})
	d.program(0, cfg, func(c *Context) error {
		ch, err := c.Dial(t.Context(), "10.0.0.2:7174")
		if err != nil {
			return err
		}
		for range 3 {
			ctx, cancel := c.runtime.WithTimeout(t.Context(), 10*time.Millisecond)
			if _, err = ch.Call(ctx, []byte("lost")); !errors.Is(err, context.Canceled) {
				t.Errorf("a call that a filter loses: %v", err)
			}
			cancel()
		}
		ctx, cancel := c.runtime.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := ch.Send(ctx, []byte("no more filter")); err != nil {
			return err
		}
		_, err = ch.Call(ctx, []byte("not lost"))
		return err
	})
	d.run(20 * sim.Second)
}

// TestGivenUpCallLetsOthersGo: a message behind a call that waits for its turn goes when that call is
// given up.
func TestGivenUpCallLetsOthersGo(t *testing.T) {
	d := newDatacenter(t, 1)
	cfg := Config{Channels: 4, Calls: 1, Keepalive: -1}
	d.program(1, cfg, func(c *Context) error {
		l, err := listenWithoutCalls(c)
		if err != nil {
			return err
		}
		ch, err := l.Accept(t.Context())
		if err != nil {
			return err
		}
		m, err := ch.Receive(t.Context())
		if err == nil {
			m.Release()
		}
		return err
	})
	d.program(0, cfg, func(c *Context) error {
		ch, err := c.Dial(t.Context(), "10.0.0.2:7174")
		if err != nil {
			return err
		}
		for _, patience := range []time.Duration{500 * time.Millisecond, 100 * time.Millisecond} {
			c.background.Go(func() {
				ctx, cancel := c.runtime.WithTimeout(t.Context(), patience)
				defer cancel()
				_, _ = ch.Call(ctx, []byte("a call"))
			})
			d.net.Sleep(0, sim.Millisecond)
		}
		start := c.now()
		if err := ch.Send(t.Context(), []byte("behind it")); err != nil {
			return err
		}
		if took := c.now() - start; took > 200*time.Millisecond {
			t.Errorf("the message has waited for %v", took)
		}
		return nil
	})
	d.run(20 * sim.Second)
}

// TestCallGivenUpEarly: a handler whose call was given up before it had arrived as a whole is told.
func TestCallGivenUpEarly(t *testing.T) {
	d := newDatacenter(t, 1)
	d.program(1, Config{Channels: 4}, func(c *Context) error {
		l, err := c.Listen(7174)
		if err != nil {
			return err
		}
		err = l.Serve(t.Context(), func(ctx context.Context, m *Msg) ([]byte, error) {
			if m.IsCall() && ctx.Err() == nil {
				t.Errorf("at %v the handler of a call that was given up has a context that lives", d.net.Now())
			}
			if !m.IsCall() {
				l.Close()
			}
			return nil, nil
		})
		if !errors.Is(err, ErrClosed) {
			return err
		}
		return nil
	})
	d.program(0, Config{Channels: 4}, func(c *Context) error {
		ch, err := c.Dial(t.Context(), "10.0.0.2:7174")
		if err != nil {
			return err
		}
		ctx, cancel := c.runtime.WithTimeout(t.Context(), 300*time.Microsecond)
		defer cancel()
		if _, err := ch.Call(ctx, make([]byte, 1<<20)); !errors.Is(err, context.Canceled) {
			t.Errorf("a call that was given up: %v", err)
		}
		d.net.Sleep(0, 10*sim.Millisecond)
		return ch.Send(t.Context(), []byte("the end"))
	})
	d.run(20 * sim.Second)
}
