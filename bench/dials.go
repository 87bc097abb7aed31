package main

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"time"

	"github.com/braid-rdma/braid"
)

// dialWarmup dials are not counted: the first of them finds nothing in the cache.
const dialWarmup = 20

// grantDials is the role of the server, with a QP cache of a size: without one neither end has it.
func grantDials(cache int) role {
	return server(func(ctx context.Context, out io.Writer) error {
		return serveContext(ctx, out, braid.Config{QPCache: cache}, func(context.Context, *braid.Msg) ([]byte, error) { return nil, nil })
	})
}

// dialing is the role of a client that connects and ends channels, one after the other, with a QP cache of a
// size. What is timed is Dial, as in X-RDMA §VII.
func dialing(cache int) role {
	return func(ctx context.Context, address string, duration time.Duration, out io.Writer) error {
		c, err := braid.Open(braid.Config{QPCache: cache})
		if err != nil {
			return err
		}
		defer c.Close()
		var trips []time.Duration
		end := time.Now().Add(duration)
		for n := 0; n < dialWarmup || time.Now().Before(end); n++ {
			start := time.Now()
			ch, err := c.Dial(ctx, address)
			took := time.Since(start)
			if err != nil {
				return err
			}
			ch.Close()
			if n >= dialWarmup {
				trips = append(trips, took)
			}
		}
		slices.Sort(trips)
		return json.NewEncoder(out).Encode(sample{P50Micros: 2 * halfMicros(trips, 0.50), P99Micros: 2 * halfMicros(trips, 0.99)})
	}
}
