package rxe

import (
	"context"
	"testing"
	"time"

	"github.com/braid-rdma/braid/bundle"
	"github.com/braid-rdma/braid/verbs"
)

// bundlePort is where verbsd listens for the queue pairs of a bundle.
const bundlePort = 7000

// TestBundle: one connection over four queue pairs to the kernel's driver and a program
// that knows nothing of bundles. Writes and Reads are cut among them; a queue pair that
// the kernel breaks is replaced.
func TestBundle(t *testing.T) {
	d, m := openManaged(t)
	kernel := newKernelEnd(t)
	kmr := kernel.register(coupleMemory, ibvAllAccess)
	kernel.ask("listen %x", bundlePort)
	pd, err := d.CreatePD()
	if err != nil {
		t.Fatal(err)
	}
	mr, err := pd.AllocMemory(coupleMemory, verbs.LocalWrite)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := bundle.Dial(ctx, m, guestPort(bundlePort), bundle.Config{
		PD: pd, Standard: true, QP: verbs.QPOptions{Conn: verbs.ConnOptions{AckTimeout: longTimeout, RetryCount: 7}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const length = 1<<20 + 5
	local, remote := bundle.Buffer{MR: mr, Length: length}, bundle.Remote{Addr: kmr.addr, RKey: kmr.rkey}
	for round := range 4 {
		if round == 2 {
			kernel.ask("error 1")
		}
		pattern(mr.Bytes()[:length], byte(round))
		if err := c.Write(ctx, local, remote); err != nil {
			t.Fatal(err)
		}
		if got, want := kmr.sum(0, length), patternSum(length, byte(round)); got != want {
			t.Errorf("round %d: other bytes were written", round)
		}
		kmr.fill(0, length, byte(round+100))
		if err := c.Read(ctx, local, remote); err != nil {
			t.Fatal(err)
		}
		if got, want := sumOf(mr.Bytes()[:length]), patternSum(length, byte(round+100)); got != want {
			t.Errorf("round %d: other bytes were read", round)
		}
	}
	awaitRepair(ctx, t, c)
}

// awaitRepair waits until a queue pair was replaced and all are up.
func awaitRepair(ctx context.Context, t *testing.T, c *bundle.Conn) {
	t.Helper()
	for s := c.Stats(); s.Up < s.QueuePairs || s.Repairs == 0; s = c.Stats() {
		if ctx.Err() != nil {
			t.Fatalf("%+v, want a replaced queue pair", s)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
