package braid

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
)

// Listeners are closed, and what serves their channels ends, at any moment while peers dial. Nothing is left of any channel but those
// that wait in the cache.
func TestListenersComeAndGo(t *testing.T) {
	server, client := open(t, Config{Linger: -1}), open(t, Config{Linger: -1})
	const rounds, dialers, calls = 12, 4, 10
	for round := range rounds {
		l := listen(t, server)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = l.Serve(ctx, func(context.Context, *Msg) ([]byte, error) { return []byte("here"), nil })
		}()
		var called atomic.Int32
		enough := make(chan struct{})
		var dialing sync.WaitGroup
		for range dialers {
			dialing.Go(func() {
				for {
					ch, err := client.Dial(soon(t), l.Addr().String())
					if err != nil {
						return
					}
					if reply, err := ch.Call(soon(t), []byte("is anybody there?")); err == nil {
						reply.Release()
						if called.Add(1) == calls {
							close(enough)
						}
					}
					ch.Close()
				}
			})
		}
		<-enough
		if round%2 == 0 { // else channels come for Accept, which nobody calls
			l.Close()
		}
		stop()
		<-ended
		l.Close()
		dialing.Wait()
	}
	for _, c := range []*Context{server, client} {
		wantFree(t, c)
		if n, waiting := queuePairs(c), c.Stats().CachedQPs; n != waiting {
			t.Errorf("%d queue pairs, %d wait", n, waiting)
		}
	}
}
