package bundle

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"

	"github.com/braid-rdma/braid/cm"
)

// Dial connects to a listener at an address of the form host:port, by as many queue
// pairs as the configuration says (Virtuoso's MP_rdma_connect, §3.2.2). All of them
// must come up; later they may fail and come back.
func Dial(ctx context.Context, manager *cm.Manager, address string, cfg Config) (*Conn, error) {
	cfg, err := cfg.withDefaults(manager)
	if err != nil {
		return nil, err
	}
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	c, err := newConn(manager, cfg, binary.BigEndian.Uint64(id[:]))
	if err != nil {
		return nil, fmt.Errorf("bundle: %w", err)
	}
	c.address = address
	first := make(chan error, len(c.lanes))
	for _, l := range c.lanes {
		c.tasks.Go(func() { c.tend(l, first) })
	}
	for range c.lanes {
		select {
		case err = <-first:
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err != nil {
			c.Close()
			return nil, fmt.Errorf("bundle: dial %v: %w", address, err)
		}
	}
	return c, nil
}
