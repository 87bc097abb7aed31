package machine

import (
	"bytes"
	"testing"
)

// FuzzHeader: whatever a peer sends is refused or is what encodes to it, and a machine
// survives it.
func FuzzHeader(f *testing.F) {
	for _, h := range []Header{
		{Kind: HeaderAnnounce, Number: 3, Target: Target{Addr: 1 << 40, Key: 77, Length: 100}},
		{Kind: HeaderOffer, Number: 4, Target: Target{Chunk: 32, Length: 100}},
		{Kind: HeaderChunk, Number: 0, Target: Target{Length: 40}, Offset: 32},
		{Kind: HeaderMessage, Number: 0, Target: Target{Length: 8}},
		{Kind: HeaderDelivered, Number: 1, Target: Target{Length: 7}},
	} {
		f.Add(append(h.Append(nil), make([]byte, 8)...))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, rest, err := ParseHeader(b)
		if err != nil {
			return
		}
		again, _, err := ParseHeader(append(h.Append(nil), rest...))
		if err != nil || again != h || !bytes.Equal(rest, b[HeaderLen:]) {
			t.Errorf("%+v, then %+v, %v", h, again, err)
		}
		m := New(Config{Lanes: 1, Chunk: 8, Depth: 1, TwoSided: 32, Balancer: RoundRobin()})
		n := m.PostReceive(64)
		m.Post(Send, 50)
		m.HandleUp(0)
		if place, err := m.HandleHeader(&h, len(rest)); place && (err != nil || h.Number != n || h.Offset+len(rest) > 64) {
			t.Errorf("%+v places %d bytes, %v", h, len(rest), err)
		}
		for range 10 {
			w, ok := m.PollWork(1)
			if !ok {
				break
			}
			m.HandleDone(2, w.Tag, OK, nil)
		}
	})
}
