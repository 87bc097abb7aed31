package session

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"
)

// opened returns a session that may send some messages, in bundles of up to some bytes.
func opened(window, bundle int) *Session {
	s := New(Config{MinWindow: 16})
	s.Posted(s.Wanted())
	s.Granted()
	s.Grant(window)
	s.Bundle(bundle)
	return s
}

// What waits goes in one frame, as far as the frame and the window have room and it is short; the
// rest goes on its own.
func TestBundle(t *testing.T) {
	const entry = entryLength + shortHeader
	tests := []struct {
		name           string
		window, bundle int
		lengths        []int
		want           []int // messages of each frame
	}{
		{"all", 16, 4096, []int{8, 8, 8}, []int{3}},
		{"one alone", 16, 4096, []int{8}, []int{1}},
		{"the peer takes none", 16, 0, []int{8, 8}, []int{1, 1}},
		{"the frame is full", 16, 2 * (entry + 8), []int{8, 8, 8}, []int{2, 1}},
		{"the window is closed", 2, 4096, []int{8, 8, 8}, []int{2}},
		{"a long one between", 16, 4096, []int{8, 8, maxBundled + 1, 8, 8}, []int{2, 1, 2}},
		{"a long one first", 16, 4096, []int{maxBundled + 1, 8, 8}, []int{1, 2}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a, b := opened(test.window, test.bundle), opened(0, 0)
			for i, length := range test.lengths {
				a.Send(0, &Out{Kind: Oneway + Kind(i%2), Length: length, Ref: uint64(i)})
			}
			a.Posted(a.Wanted()) // for the responses
			var frames []int
			number := uint64(0)
			for f, ok := a.PollFrame(0, nil); ok; f, ok = a.PollFrame(0, nil) {
				frames = append(frames, 1+len(f.More))
				m := &In{}
				some, err := b.Arrived(0, f.Immediate, encoded(f), m)
				for some && err == nil {
					if n := binary.BigEndian.Uint64(m.Payload); n != number || len(m.Payload) != test.lengths[n] || m.Length != test.lengths[n] {
						t.Errorf("message %d of %d bytes arrives, want %d", n, len(m.Payload), number)
					}
					number++
					m = &In{}
					some, err = b.Next(m)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if len(frames) != len(test.want) {
				t.Fatalf("%v messages in the frames, want %v", frames, test.want)
			}
			for i := range frames {
				if frames[i] != test.want[i] {
					t.Errorf("%v messages in the frames, want %v", frames, test.want)
				}
			}
		})
	}
}

// A bundle of a liar ends the channel, and nothing after the lie arrives.
func TestBundleOfALiar(t *testing.T) {
	good := append(AppendEntry(nil, &Out{Kind: Oneway, Length: 8}), make([]byte, 8)...)
	large := (&Out{Kind: Oneway, Large: true, Length: 1 << 20}).header().append(binary.BigEndian.AppendUint16(nil, longHeader))
	for name, lie := range map[string][]byte{
		"half a length":           {0},
		"longer than the frame":   {0xff, 0xff, 1, 0, 0, 8},
		"shorter than its header": {0, 4, 1, 0, 0, 8},
		"a large message":         large,
		"more than was granted":   nil,
	} {
		s := opened(0, 0)
		frame := slices.Concat(good, lie)
		if lie == nil {
			for range 20 {
				frame = append(frame, good...)
			}
		}
		some, err := s.Arrived(0, uint32(makeImmediate(frameBundle, 0, 0, prompt, 0)), frame, &In{})
		for some && err == nil {
			some, err = s.Next(&In{})
		}
		if !errors.Is(err, ErrPeer) {
			t.Errorf("%s: %v", name, err)
		}
		if some, err := s.Next(&In{}); some || err != nil {
			t.Errorf("%s: another message arrives: %v", name, err)
		}
	}
	if _, err := opened(0, 0).Arrived(0, uint32(makeImmediate(frameBundle, 0, 0, prompt, 0)), nil, &In{}); !errors.Is(err, ErrPeer) {
		t.Errorf("a bundle of nothing: %v", err)
	}
}
