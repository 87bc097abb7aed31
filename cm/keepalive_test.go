package cm

import (
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braid-rdma/braid/internal/loopnet"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// TestKilledWhileIdle: a peer that is gone is noticed although nothing is sent,
// within the bound that verbs.DefaultKeepalive states.
func TestKilledWhileIdle(t *testing.T) {
	forBothKinds(t, func(t *testing.T, n *loopnet.Network, _, b *side, ca, _ *Conn) {
		time.Sleep(time.Minute) // of virtual time: an idle connection lives
		if ca.Err() != nil {
			t.Fatalf("ended with %v", ca.Err())
		}
		mute(n, b.dev.Query().Local)
		begin := time.Now()
		select {
		case <-ca.Done():
		case <-time.After(time.Minute):
			t.Fatal("a minute after its end the peer is not missed")
		}
		wantFailure(t, ca, verbs.EventQPFatal, verbs.ErrRetryExceeded)
		if took := time.Since(begin); took > 15*time.Second {
			t.Errorf("noticed after %v", took)
		}
	})
}

// TestKeepaliveCost: an idle connection sends at most 0.4 packets a second, and
// none at all where the program wants that.
func TestKeepaliveCost(t *testing.T) {
	for _, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
		for keepalive, most := range map[time.Duration]int64{0: 24, verbs.None: 0} {
			bubble(t, func(t *testing.T, n *loopnet.Network, a, b *side) {
				l, err := b.m.Listen(0)
				must(t, err)
				oa, ob := a.options(kind, ""), b.options(kind, "")
				oa.QP.Conn.Keepalive, ob.QP.Conn.Keepalive = keepalive, keepalive
				accepted := b.accepting(l, ob)
				ca, err := a.m.Dial(testContext(t), l.Addr().String(), oa)
				must(t, err)
				must(t, (<-accepted).err)
				time.Sleep(time.Second) // of virtual time: the handshake is over
				var packets atomic.Int64
				n.SetFilter(func(_, _ netip.Addr, _ *transport.Packet) bool { packets.Add(1); return true })
				time.Sleep(time.Minute)
				if got := packets.Load(); got > most || most > 0 && got == 0 {
					t.Errorf("%v, option %v: %d packets in a minute, want at most %d", kind, keepalive, got, most)
				}
				if ca.Err() != nil {
					t.Errorf("ended with %v", ca.Err())
				}
				if keepalive == verbs.None {
					mute(n, b.dev.Query().Local)
					if time.Sleep(time.Hour); ca.Err() != nil {
						t.Errorf("a program that asked for nothing was told %v", ca.Err())
					}
				}
			})
		}
	}
}
