package braid

import (
	"context"
	"testing"
	"time"

	"github.com/braid-rdma/braid/udp"
	"github.com/braid-rdma/braid/verbs"
)

// A context is told of its peers also on a device of several loops, the first of which another queue pair of the program has.
func TestContextBesideALoopInUse(t *testing.T) {
	dev, err := udp.Open(udp.Config{Loops: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dev.Close() })
	pd, err := dev.CreatePD()
	if err != nil {
		t.Fatal(err)
	}
	cq, err := dev.CreateCQ(16)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pd.CreateQP(verbs.QPOptions{Type: verbs.RC, SendCQ: cq}); err != nil {
		t.Fatal(err)
	}
	c, l := open(t, Config{Device: dev, Linger: -1}), listen(t, open(t, Config{Linger: -1}))
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second) // a loop sleeps for longer if it is not told
	defer cancel()
	if _, err := c.Dial(ctx, l.Addr().String()); err != nil {
		t.Error(err)
	}
}
