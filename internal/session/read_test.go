package session

import "testing"

// A large message that was read before its turn to be acknowledged is told to its sender at once, also
// when a message of our own goes first: that has no bitmap.
func TestReadIsToldBesideMessages(t *testing.T) {
	a, b := New(Config{}), New(Config{})
	for _, s := range []*Session{a, b} {
		s.Posted(s.Wanted())
	}
	a.Grant(b.Granted())
	b.Grant(a.Granted())
	deliver := func(from, to *Session) (frames int) {
		t.Helper()
		for f, ok := from.PollFrame(1, nil); ok; f, ok = from.PollFrame(1, nil) {
			frames++
			frame := f.Header
			if m := f.Message; m != nil && !m.Large {
				frame = append(frame, make([]byte, m.Length)...)
			}
			if _, err := to.Arrived(1, f.Immediate, frame, &In{}); err != nil {
				t.Fatal(err)
			}
		}
		return frames
	}
	large := &Out{Kind: Oneway, Large: true, Length: 100}
	b.Send(1, &Out{Kind: Oneway, Length: 8}) // which the program at a does not take
	b.Send(1, large)
	deliver(b, a)
	f, ok := a.PollFetch()
	if !ok {
		t.Fatal("there is nothing to fetch")
	}
	a.Fetched(f.Message, f.Length)
	a.Send(1, &Out{Kind: Oneway, Length: 8})
	deliver(a, b)
	if m, ok := b.PollRead(); !ok || m != large {
		t.Error("the sender does not know that its message was read")
	}
	if n := deliver(a, b); n != 0 {
		t.Errorf("it is told %d times more", n)
	}
}
