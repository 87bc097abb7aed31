package bundle

import (
	"errors"
	"testing"
	"time"

	"github.com/braid-rdma/braid/udp"
	"github.com/braid-rdma/braid/verbs"
)

// TestLossy: with congestion avoidance on, transfers pass a path that loses packets.
func TestLossy(t *testing.T) {
	a, b := socketPair(t)
	pair(t, a, b, 3, func(c *Config) { c.Lossy = &WindowConfig{} })
	exchangeWhile(t, a, b, func() {
		udp.FaultsOf(a.dev).SetLoss(1, 0.05)
		udp.FaultsOf(b.dev).SetLoss(1, 0.05)
	})
}

// TestQueuePairsEnd breaks queue pairs on both sides, again and again, as a program or a
// device would that closes them.
func TestQueuePairsEnd(t *testing.T) {
	eachNetwork(t, func(t *testing.T, a, b *side) {
		pair(t, a, b, 3, nil)
		stop, stopped := make(chan struct{}), make(chan struct{})
		defer func() {
			close(stop)
			<-stopped
		}()
		go func() {
			defer close(stopped)
			for i := 0; ; i++ {
				c := []*Conn{a.conn, b.conn}[i%2]
				if q := c.current(c.lanes[i%3]); q != nil {
					_ = q.Modify(verbs.Err, nil)
				}
				select {
				case <-stop:
					return
				case <-time.After(5 * time.Millisecond):
				}
			}
		}()
		exchangeWhile(t, a, b, func() {})
		if a.conn.Stats().Repairs == 0 {
			t.Error("no queue pair was replaced")
		}
	})
}

// TestDeviceGone: a connection ends with its device.

func TestDeviceGone(t *testing.T) {
	a, b, _ := loopPair(t)
	pair(t, a, b, 2, nil)
	must(t, b.dev.Close())
	select {
	case <-b.conn.Done():
	case <-testContext(t).Done():
	}
	if !errors.Is(b.conn.Err(), ErrClosed) {
		t.Errorf("got %v, want ErrClosed", b.conn.Err())
	}
}
