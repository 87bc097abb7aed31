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
)

// converseOverBoth runs calls between two simulated hosts while UDP fails and heals, then by command, and
// returns what happened.
func converseOverBoth(t *testing.T, seed uint64, cfg Config) []string {
	d := newDatacenterOf(t, sim.Config{Seed: seed, MTU: 1024, Verify: true, Streams: sim.Streams{Delay: 20 * sim.Microsecond, Rate: 1e9}})
	link := fmt.Sprintf("%s-%s", d.net.Links()[0].From, d.net.Links()[0].To)
	for at, i := range map[sim.Time]sim.Impairment{sim.Second: {Down: true}, 8 * sim.Second: {}} {
		if err := d.net.Impair(at, link, sim.Both, i); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.net.BreakStreams(12*sim.Second, 0, 1); err != nil {
		t.Fatal(err)
	}
	tellMoves := func(c *Context, host int) {
		c.OnMove(func(m Move) { d.say("host %d sends by %v: %v (%v)", host, m.To, m.Reason, m.Err) })
	}
	cfg.Channels = 4
	d.program(1, cfg, func(c *Context) error {
		tellMoves(c, 1)
		l, err := c.Listen(7174)
		if err != nil {
			return err
		}
		if err = l.Serve(t.Context(), func(_ context.Context, m *Msg) ([]byte, error) {
			if m.Len() == 3 {
				l.Close()
			}
			return bytes.ToUpper(m.Bytes()), nil
		}); errors.Is(err, ErrClosed) {
			return nil
		}
		return err
	})
	d.program(0, cfg, func(c *Context) error {
		tellMoves(c, 0)
		ch, err := c.Dial(t.Context(), "10.0.0.2:7174")
		if err != nil {
			return err
		}
		call := func(b []byte) error {
			m, err := ch.Call(t.Context(), b)
			if err == nil {
				m.Release()
			}
			return err
		}
		for d.net.Now() < 10*sim.Second {
			if err := call(bytes.Repeat([]byte("hello"), 10_000)); err != nil {
				return err
			}
			d.net.Sleep(0, 100*sim.Millisecond)
		}
		if err := ch.SetCarrier(t.Context(), CarrierTCP); err != nil {
			return err
		}
		for d.net.Now() < 15*sim.Second {
			if err := call([]byte("hello")); err != nil {
				return err
			}
			d.net.Sleep(0, 500*sim.Millisecond)
		}
		if err := ch.SetCarrier(t.Context(), CarrierAuto); err != nil {
			return err
		}
		d.net.Sleep(0, 2*sim.Second)
		if s := ch.Stats(); s.OnTCP {
			t.Errorf("still on TCP: %+v", s)
		}
		return call([]byte("bye"))
	})
	d.run(60 * sim.Second)
	if n := d.net.OpenStreams(0) + d.net.OpenStreams(1); n != 0 {
		t.Errorf("%d streams are left", n)
	}
	return d.log
}

// TestSimulatedMock: in a simulation, channels move to TCP when UDP fails, back when it has healed, on
// command, and to another connection when theirs breaks; and a seed lets the same happen again.
func TestSimulatedMock(t *testing.T) {
	kinds(t, func(t *testing.T, cfg Config) {
		cfg.Patience = 4 * time.Second
		first, again := converseOverBoth(t, 1, cfg), converseOverBoth(t, 1, cfg)
		story := strings.Join(first, "\n")
		if story != strings.Join(again, "\n") {
			t.Errorf("%s\n\nand then\n%s", story, strings.Join(again, "\n"))
		}
		t.Log("\n" + story)
		for _, want := range []string{
			"by TCP: " + MovedBySilence.String(), "by TCP: " + MovedByPeer.String(), "by UDP: " + MovedBack.String(),
			"by TCP: " + MovedOnCommand.String(), "by UDP: " + MovedByBrokenTCP.String(),
		} {
			if !strings.Contains(story, want) {
				t.Errorf("nobody sends %s", want)
			}
		}
	})
}
