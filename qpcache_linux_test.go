package braid

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/udp"
	"github.com/braid-rdma/braid/verbs"
)

// connect dials, and returns both ends.
func (d *dialer) connect(t testing.TB) (client, server *Channel) {
	t.Helper()
	client, err := d.context.Dial(soon(t), d.l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if server, err = d.l.Accept(soon(t)); err != nil {
		t.Fatal(err)
	}
	return client, server
}

// endBoth closes a channel from one side, and then the other end.
func endBoth(first, second *Channel) {
	first.Close()
	<-second.Done()
	second.Close()
}

// Channels one after the other use one queue pair at each end. Every one has its own numbers, begins with
// nothing of the one before, and is left with messages and calls under way.
func TestQPCache(t *testing.T) {
	for _, single := range []bool{false, true} {
		t.Run(fmt.Sprintf("single path %v", single), func(t *testing.T) {
			d := newDialer(t, Config{SinglePath: single, Linger: -1})
			if f := udp.FaultsOf(d.context.device); !single {
				for path := range 128 {
					f.SetLoss(path, 0.1)
				}
			}
			seen := map[verbs.QPN]bool{}
			for round := range byte(20) {
				a, b := d.connect(t)
				for _, ch := range []*Channel{a, b} {
					if n := ch.qp.Number(); seen[n] {
						t.Fatalf("round %d: the number %v comes again", round, n)
					} else {
						seen[n] = true
					}
					if s := ch.Stats(); s.Sent != 0 || s.Received != 0 || s.RNRs != 0 {
						t.Errorf("round %d: a new channel has %+v", round, s)
					}
				}
				for i := range byte(20) {
					want := bytes.Repeat([]byte{round, i}, 1+37*int(i))
					if err := a.Send(soon(t), want); err != nil {
						t.Fatal(err)
					}
					m, err := b.Receive(soon(t))
					if err != nil || !bytes.Equal(m.Bytes(), want) {
						t.Fatalf("round %d, message %d: %v", round, i, err)
					}
					m.Release()
				}
				for i := range byte(8) { // nobody receives these
					if err := b.Send(soon(t), bytes.Repeat([]byte{0xee, round, i}, 500)); err != nil {
						t.Fatal(err)
					}
				}
				if round%2 == 0 {
					endBoth(a, b)
				} else {
					endBoth(b, a)
				}
			}
			for _, c := range []*Context{d.context, d.l.context} {
				if s := c.Stats(); s.ReusedQPs != 19 || s.CachedQPs != 1 || queuePairs(c) != 1 {
					t.Errorf("%d reused, %d wait, %d queue pairs", s.ReusedQPs, s.CachedQPs, queuePairs(c))
				}
				if n := heldBlocks(c); n != 0 {
					t.Errorf("%d blocks of memory are in use", n)
				}
			}
		})
	}
}

// The cache has a bound, which may change; without one there is none, and nobody keeps a ticket.
func TestQPCacheIsBounded(t *testing.T) {
	d := newDialer(t, Config{Linger: -1, QPCache: 3})
	var as, bs []*Channel
	for range 5 {
		a, b := d.connect(t)
		as, bs = append(as, a), append(bs, b)
	}
	for i := range as {
		endBoth(as[i], bs[i])
	}
	for _, c := range []*Context{d.context, d.l.context} {
		for _, step := range []struct {
			limit string
			want  int
		}{{"3", 3}, {"100", 3}, {"2", 2}, {"-5", 0}} {
			if err := c.Set("qp_cache", step.limit); err != nil {
				t.Fatal(err)
			}
			if s := c.Stats(); s.CachedQPs != step.want || queuePairs(c) != step.want {
				t.Errorf("with a limit of %s: %d wait, %d queue pairs", step.limit, s.CachedQPs, queuePairs(c))
			}
		}
	}
	asked := d.l.context.manager.Counters().Retries
	for range 3 {
		endBoth(d.connect(t))
	}
	if s := d.context.Stats(); s.CachedQPs != 0 || s.ReusedQPs != 0 {
		t.Errorf("without a cache: %+v", s)
	}
	// A request that a busy machine is late with is repeated, and the repetition asked once more.
	if n := d.l.context.manager.Counters().Retries - asked; n < 3 {
		t.Errorf("of 3 dials %d were asked to prove their address", n)
	}
	if err := d.context.Set("qp_cache", "70000"); !errors.Is(err, ErrConfig) {
		t.Errorf("more than a device has: %v", err)
	}
}

// A change of the configuration counts for queue pairs that wait.
func TestQPCacheFollowsConfig(t *testing.T) {
	d := newDialer(t, Config{Linger: -1})
	endBoth(d.connect(t))
	if err := d.context.Set("patience", "100ms"); err != nil {
		t.Fatal(err)
	}
	a, b := d.connect(t)
	if s := d.context.Stats(); s.ReusedQPs != 1 {
		t.Errorf("%+v", s)
	}
	want := verbs.AckTimeoutOf(12) // 16.8 ms, the next above an eighth of it
	if got := a.qp.Query().Options.Conn.AckTimeout; got > want {
		t.Errorf("ACK timeout %v, want %v", got, want)
	}
	endBoth(a, b)
	for _, setting := range [][2]string{{"max_message", "1000000"}, {"policy", "spray"}} {
		endBoth(d.connect(t))
		if err := d.context.Set(setting[0], setting[1]); err != nil {
			t.Fatal(err)
		}
		if s := d.context.Stats(); s.CachedQPs != 0 {
			t.Errorf("%s: %d have the old one", setting[0], s.CachedQPs)
		}
	}
}

// A queue pair that waits takes the type that a peer wants, at either end, and the receives that it had are free.
func TestQPCacheOfAnotherType(t *testing.T) {
	cfg := Config{Linger: -1, Mock: MockOff}
	multi := open(t, cfg)
	cfg.SinglePath = true
	single := open(t, cfg)
	for _, ends := range [][2]*Context{{multi, single}, {single, multi}} {
		l := listen(t, ends[1])
		own := listen(t, ends[0])
		for round := range 3 {
			for _, to := range []*Listener{l, own} { // the second makes it what it was
				a, err := ends[0].Dial(soon(t), to.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				b, err := to.Accept(soon(t))
				if err != nil {
					t.Fatal(err)
				}
				exchange(t, a, b, 100+round)
				endBoth(a, b)
			}
		}
	}
	for _, c := range []*Context{multi, single} {
		s := c.Stats()
		if s.ReusedQPs < 10 || queuePairs(c) != s.CachedQPs {
			t.Errorf("%d reused, %d wait, %d queue pairs", s.ReusedQPs, s.CachedQPs, queuePairs(c))
		}
		if n := heldBlocks(c); n != 0 {
			t.Errorf("%d blocks of memory are in use", n)
		}
	}
}

// A dial that fails leaves nothing behind, with a queue pair of the cache or without.
func TestQPCacheAndFailedDials(t *testing.T) {
	d := newDialer(t, Config{Linger: -1})
	endBoth(d.connect(t))
	for range 3 {
		if _, err := d.context.Dial(soon(t), d.l.Addr().Addr().String()+":1"); !errors.Is(err, cm.ErrRejected) {
			t.Errorf("nobody listens there: %v", err)
		}
		if _, err := d.context.Dial(soon(t), "nonsense"); err == nil {
			t.Error("nonsense is dialed")
		}
	}
	if n := queuePairs(d.context); n != 1 || d.context.Stats().CachedQPs != 1 {
		t.Errorf("%d queue pairs, want the one that waits", n)
	}
	endBoth(d.connect(t))
}

// Close closes the queue pairs that wait, also on a device that stays open.
func TestQPCacheEndsWithItsContext(t *testing.T) {
	dev, err := udp.Open(udp.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dev.Close() })
	l := listen(t, open(t, Config{}))
	c := open(t, Config{Device: dev})
	for range 3 {
		a, err := c.Dial(soon(t), l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		a.Close()
	}
	if c.Stats().CachedQPs == 0 {
		t.Error("nothing waits")
	}
	c.Close()
	if q := dev.Query(); q.QPs != 0 || q.CQs != 0 || q.PDs != 0 || q.MRs != 0 {
		t.Errorf("left: %+v", q)
	}
}

// A peer that keeps its queue pair and goes on sending to the one that its channel had reaches nobody: neither
// the channel that has the memory of that queue pair now, nor another.
func TestQPCacheAndOldPeer(t *testing.T) {
	c := open(t, Config{Linger: -1})
	l := listen(t, c)
	manager, options := stranger(t)
	options.PrivateData = (&hello{small: 4096, maxMessage: 1 << 20, window: 4}).bytes()
	conn, err := manager.Dial(soon(t), l.Addr().String(), options)
	if err != nil {
		t.Fatal(err)
	}
	victim, err := l.Accept(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	was := conn.QP().Query()
	victim.Close()
	<-conn.Done() // the manager has ended that queue pair; this one is a copy that nobody ends
	undead, err := options.PD.CreateQP(options.QP)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { undead.Close() })
	if err := undead.SetFirstPSN(was.Attr.SendPSN); err != nil {
		t.Fatal(err)
	}
	if err := undead.Connect(verbs.ConnParams{
		Type: verbs.MP, Addr: l.Addr().Addr(), QPN: was.Attr.RemoteQPN, PSN: was.Attr.RecvPSN,
		MTU: was.Attr.MTU, Paths: was.Attr.Paths, TrackedSlots: was.Attr.TrackedSlots,
	}); err != nil {
		t.Fatal(err)
	}
	honest, err := open(t, Config{}).Dial(soon(t), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	served, err := l.Accept(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	if c.Stats().ReusedQPs != 1 {
		t.Error("the queue pair was not used again")
	}
	for n := range uint64(200) {
		if n < 50 {
			if err := undead.PostSend(&verbs.SendWR{Op: verbs.OpSendImm, Imm: 4 << 16, Inline: []byte("of the old one")}); err != nil {
				t.Fatal(err)
			}
		}
		if err := honest.Send(soon(t), binary.BigEndian.AppendUint64(nil, n)); err != nil {
			t.Fatal(err)
		}
		m, err := served.Receive(soon(t))
		if err != nil || m.Len() != 8 || binary.BigEndian.Uint64(m.Bytes()) != n {
			t.Fatalf("message %d: %v", n, err)
		}
		m.Release()
	}
	if s := undead.Stats(); s.PacketsSent == 0 || s.AcksReceived != 0 {
		t.Errorf("%d packets to the old number, %d acknowledged", s.PacketsSent, s.AcksReceived)
	}
}
