package braid

import (
	"slices"
	"testing"
	"time"
)

// inTurn is how many dials follow each other.
const inTurn = 10

// BenchmarkDial connects channels, in turn with the QP cache and without, each over contexts of their own in this
// process. The times are from Dial until it returns, with a channel on which both ends may send; ending the channels is not
// part of it, as in X-RDMA §VII. Published there: 2451 of 3946 µs.
func BenchmarkDial(b *testing.B) {
	for name, single := range map[string]bool{"MP": false, "RC": true} {
		b.Run(name, func(b *testing.B) {
			with := newDialer(b, Config{SinglePath: single, Linger: -1})
			without := newDialer(b, Config{SinglePath: single, Linger: -1, QPCache: -1})
			with.dial(b) // the first one finds nothing in the cache
			var warm, cold []time.Duration
			for b.Loop() {
				for range inTurn {
					warm = append(warm, with.dial(b))
				}
				for range inTurn {
					cold = append(cold, without.dial(b))
				}
			}
			w, c := median(warm), median(cold)
			b.ReportMetric(float64(w.Microseconds()), "µs-cached")
			b.ReportMetric(float64(c.Microseconds()), "µs-uncached")
			b.ReportMetric(float64(w)/float64(c), "ratio")
			b.ReportMetric(0, "ns/op") // the ends are in it
		})
	}
}

// dialer is a context and one that listens.
type dialer struct {
	context *Context
	l       *Listener
}

func newDialer(t testing.TB, cfg Config) *dialer {
	cfg.Mock = MockOff // the network that a test disturbs is all there is
	return &dialer{open(t, cfg), listen(t, open(t, cfg))}
}

// dial connects and ends a channel, and returns how long it took to connect.
func (d *dialer) dial(t testing.TB) time.Duration {
	start := time.Now()
	ch, err := d.context.Dial(t.Context(), d.l.Addr().String())
	took := time.Since(start)
	if err != nil {
		t.Fatal(err)
	}
	peer, err := d.l.Accept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ch.Close()
	peer.Close()
	return took
}

func median(d []time.Duration) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return d[len(d)/2]
}
