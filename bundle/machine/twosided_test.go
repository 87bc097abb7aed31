package machine

import (
	"errors"
	"testing"
)

// TestChunks: a receive that is filled by SENDs takes each chunk once, in any order, and
// completes with the last.
func TestChunks(t *testing.T) {
	m := New(Config{Lanes: 1, Chunk: 4, Depth: 1, TwoSided: 4, Balancer: RoundRobin()})
	n := m.PostReceive(20)
	for i, step := range []struct {
		offset, payload int
		place, done     bool
	}{{8, 2, true, false}, {0, 4, true, false}, {8, 2, false, false}, {4, 4, true, true}, {4, 4, false, false}} {
		h := Header{Kind: HeaderChunk, Number: n, Offset: step.offset, Target: Target{Length: 10}}
		place, err := m.HandleHeader(&h, step.payload)
		c, done := m.PollCompletion()
		if err != nil || place != step.place || done != step.done || done && (c.Bytes != 10 || c.Err != nil) {
			t.Errorf("step %d: place %v, %v, completion %+v %v; want %+v", i, place, err, c, done, step)
		}
	}
}

// TestChunksOfLiar: chunks that no machine sends are the peer's fault.
func TestChunksOfLiar(t *testing.T) {
	for name, x := range map[string]struct {
		twoSided, offset, payload int
		total                     uint64
	}{
		"too long":      {4, 0, 4, 21},
		"of nothing":    {4, 0, 0, 0},
		"between":       {4, 2, 4, 10},
		"beyond":        {4, 12, 0, 10},
		"short":         {4, 4, 3, 10},
		"long":          {4, 8, 4, 10},
		"other total":   {4, 0, 4, 11},
		"nobody wanted": {0, 0, 4, 10},
	} {
		m := New(Config{Lanes: 1, Chunk: 4, Depth: 1, TwoSided: x.twoSided, Balancer: RoundRobin()})
		n := m.PostReceive(20)
		if x.twoSided > 0 {
			h := Header{Kind: HeaderChunk, Number: n, Offset: 4, Target: Target{Length: 10}}
			if _, err := m.HandleHeader(&h, 4); err != nil {
				t.Fatal(err)
			}
		}
		h := Header{Kind: HeaderChunk, Number: n, Offset: x.offset, Target: Target{Length: x.total}}
		if place, err := m.HandleHeader(&h, x.payload); place || !errors.Is(err, ErrProtocol) {
			t.Errorf("%s: place %v, %v, want ErrProtocol", name, place, err)
		}
	}
	m := New(Config{Lanes: 1, Chunk: 4, Depth: 1, TwoSided: 4, Balancer: RoundRobin()})
	h := Header{Kind: HeaderDelivered, Number: m.PostReceive(20), Target: Target{Length: 10}}
	if _, err := m.HandleHeader(&h, 0); !errors.Is(err, ErrProtocol) {
		t.Errorf("delivered without a chunk: got %v, want ErrProtocol", err)
	}
	m = New(Config{Lanes: 1, Chunk: 4, Depth: 1, Balancer: RoundRobin()})
	if _, err := m.HandleHeader(&Header{Kind: HeaderOffer, Target: Target{Length: 5}}, 0); !errors.Is(err, ErrProtocol) {
		t.Errorf("chunks of no bytes: got %v, want ErrProtocol", err)
	}
}
