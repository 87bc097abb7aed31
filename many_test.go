package braid

import (
	"os"
	"runtime"
	"strconv"
	"testing"
)

// Many channels of one context: each works, and an idle one costs a bounded number of bytes.
// BRAID_CHANNELS=5000 makes it as many as a server of a large cluster has.
func TestManyChannels(t *testing.T) {
	n := channelCount(t, 300)
	cfg := Config{Channels: n, Window: 16, Calls: 32}
	server := open(t, cfg)
	l := listen(t, server)
	client := open(t, cfg)
	before := heapBytes()
	type both struct{ a, b *Channel }
	channels := make([]both, n)
	for i := range channels {
		a, err := client.Dial(soon(t), l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		b, err := l.Accept(soon(t))
		if err != nil {
			t.Fatal(err)
		}
		channels[i] = both{a, b}
		if err := a.Send(soon(t), []byte{byte(i)}); err != nil {
			t.Fatal(err)
		}
		m, err := b.Receive(soon(t))
		if err != nil || m.Bytes()[0] != byte(i) {
			t.Fatalf("channel %d: %v", i, err)
		}
		m.Release()
	}
	if _, err := client.Dial(soon(t), l.Addr().String()); err == nil {
		t.Error("one channel too many")
	}
	frames := server.Stats().FrameBytes / n
	perEnd := int(heapBytes()-before) / n / 2
	t.Logf("%d channels: at each end %d KiB of frames and %d KiB of other memory for one", n, frames>>10, perEnd>>10)
	if frames > 64<<10 || perEnd > 128<<10 {
		t.Errorf("a channel costs %d and %d bytes", frames, perEnd)
	}
	runtime.KeepAlive(channels)
}

// channelCount is how many channels a test has: BRAID_CHANNELS, or a few.
func channelCount(t *testing.T, few int) int {
	t.Helper()
	text := os.Getenv("BRAID_CHANNELS")
	if text == "" {
		return few
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func heapBytes() uint64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}
