package udp

import (
	"math/rand/v2"
	"testing"

	"github.com/braid-rdma/braid/transport"
)

// TestTimerHeap compares the heap with a plain list through random operations.
func TestTimerHeap(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 0))
	ports := make([]*port, 40)
	want := map[*port]transport.Time{}
	for i := range ports {
		ports[i] = &port{index: -1}
	}
	var h timerHeap
	for range 20_000 {
		p := ports[r.IntN(len(ports))]
		switch r.IntN(4) {
		case 0:
			h.remove(p)
			delete(want, p)
		case 1:
			h.set(p, transport.Never)
			delete(want, p)
		default:
			at := transport.Time(1 + r.IntN(50)) // few values, so that many are equal
			h.set(p, at)
			want[p] = at
		}
		checkTimerHeap(t, h, want)
	}
}

func checkTimerHeap(t *testing.T, h timerHeap, want map[*port]transport.Time) {
	t.Helper()
	earliest := transport.Never
	for p, at := range want {
		earliest = min(earliest, at)
		if p.index < 0 || p.index >= len(h) || h[p.index] != p || p.deadline != at {
			t.Fatalf("a port with deadline %d stands at %d with %d", at, p.index, p.deadline)
		}
	}
	if len(h) != len(want) || h.next() != earliest {
		t.Fatalf("%d deadlines, the earliest %d; want %d and %d", len(h), h.next(), len(want), earliest)
	}
}
