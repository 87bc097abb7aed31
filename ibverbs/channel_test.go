//go:build ibverbs && linux && cgo

package ibverbs

import (
	"bytes"
	"context"
	"testing"

	"github.com/braid-rdma/braid"
)

// Channels run on queue pairs of a NIC as they do on braid's own: calls, large messages, one-sided operations, and the
// cache of queue pairs. There is no way beside the NIC, and asking for one says so.
func TestChannels(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client, server := openContext(t, 0), openContext(t, 1)
	memory, err := server.Alloc(1<<20, braid.CanRead|braid.CanWrite|braid.CanAtomic)
	must(t, err)
	where, err := memory.Remote().MarshalBinary()
	must(t, err)
	l, err := server.Listen(0)
	must(t, err)
	serving := make(chan error, 1)
	go func() {
		serving <- l.Serve(ctx, func(_ context.Context, m *braid.Msg) ([]byte, error) {
			if m.Len() == 0 {
				return where, nil
			}
			return bytes.Clone(m.Bytes()), nil
		})
	}()
	for range 3 { // the queue pairs of the later ones wait in the caches
		ch, err := client.Dial(ctx, l.Addr().String())
		must(t, err)
		for _, n := range []int{1, 4096, 1 << 20} {
			m, err := ch.Call(ctx, pattern(n, byte(n)))
			must(t, err)
			if !bytes.Equal(m.Bytes(), pattern(n, byte(n))) {
				t.Errorf("a call of %d bytes returns others", n)
			}
			m.Release()
		}
		useMemory(ctx, t, ch)
		if err := ch.SetCarrier(ctx, braid.CarrierTCP); err == nil {
			t.Error("a NIC's channel moved to TCP")
		}
		must(t, ch.Close())
	}
	if s := client.Stats(); s.ReusedQPs == 0 {
		t.Errorf("%+v: no queue pair came from the cache", s)
	}
	must(t, l.Close())
	<-serving
}

// useMemory writes, reads and counts in memory of the peer.
func useMemory(ctx context.Context, t *testing.T, ch *braid.Channel) {
	t.Helper()
	m, err := ch.Call(ctx, nil)
	must(t, err)
	defer m.Release()
	var r braid.Remote
	must(t, r.UnmarshalBinary(m.Bytes()))
	want := pattern(1<<20, 5)
	must(t, ch.Write(ctx, want, r))
	got := make([]byte, len(want))
	must(t, ch.Read(ctx, got, r))
	if !bytes.Equal(got, want) {
		t.Error("what is read is not what was written")
	}
	before, err := ch.FetchAdd(ctx, r.Slice(0, 8), 7)
	must(t, err)
	if after, err := ch.FetchAdd(ctx, r.Slice(0, 8), 0); err != nil || after != before+7 {
		t.Errorf("FetchAdd: %d after %d, %v", after, before, err)
	}
}

func openContext(t *testing.T, which int) *braid.Context {
	t.Helper()
	c, err := braid.Open(braid.Config{Device: openDevice(t, which, Config{}), Channels: 16})
	must(t, err)
	t.Cleanup(func() { must(t, c.Close()) })
	return c
}
