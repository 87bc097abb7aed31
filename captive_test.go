package braid

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/braid-rdma/braid/internal/session"
)

// Who serves stops when its context ends, though there is always another message for it. What is there by then is handled.
func TestServeEndsAmidMessages(t *testing.T) {
	_, b := pair(t, Config{})
	ctx, cancel := context.WithCancel(t.Context())
	const first, enough = 10, 100_000
	var made, handled atomic.Int32
	another := func() { // as if the peer were always ahead
		m := &Msg{channel: b, copied: true} // the protocol does not know it
		m.in.Kind = session.Oneway
		made.Add(1)
		b.toHandler(m)
	}
	served := make(chan error, 1)
	go func() {
		served <- b.Serve(ctx, func(context.Context, *Msg) ([]byte, error) {
			if handled.Add(1) == first {
				cancel()
			}
			b.context.exclusive(func() {
				if b.handler != nil && made.Load() < enough {
					another()
				}
			})
			return nil, nil
		})
	}()
	eventually(t, "somebody serves", func() (some bool) {
		b.context.exclusive(func() { some = b.handler != nil })
		return some
	})
	b.context.exclusive(another)
	if err := <-served; !errors.Is(err, context.Canceled) {
		t.Errorf("Serve: %v", err)
	}
	if n := handled.Load(); n >= enough {
		t.Errorf("it has gone on for %d messages", n)
	}
	eventually(t, "all are handled", func() bool { return handled.Load() == made.Load() })
}
