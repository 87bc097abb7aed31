package session

import "testing"

// pair is two sessions that know each other's first window.
func pair() (a, b *Session) {
	a, b = New(Config{}), New(Config{})
	for _, s := range []*Session{a, b} {
		s.Posted(s.Wanted())
	}
	a.Grant(b.Granted())
	b.Grant(a.Granted())
	return a, b
}

// deliver sends what there is to send, and returns how many frames that were.
func deliver(t *testing.T, from, to *Session) (frames int) {
	t.Helper()
	to.Posted(to.Wanted())
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

// A large message that was read before its turn to be acknowledged is told to its sender at once, also
// when a message of our own goes first: that has no bitmap.
func TestReadIsToldBesideMessages(t *testing.T) {
	a, b := pair()
	large := &Out{Kind: Oneway, Large: true, Length: 100}
	b.Send(1, &Out{Kind: Oneway, Length: 8}) // which the program at a does not take
	b.Send(1, large)
	deliver(t, b, a)
	f, ok := a.PollFetch(1000)
	if !ok {
		t.Fatal("there is nothing to fetch")
	}
	a.Fetched(f.Message, f.Length)
	a.Send(1, &Out{Kind: Oneway, Length: 8})
	deliver(t, a, b)
	if m, ok := b.PollRead(); !ok || m != large {
		t.Error("the sender does not know that its message was read")
	}
	if n := deliver(t, a, b); n != 0 {
		t.Errorf("it is told %d times more", n)
	}
}

// While a large message is fetched, and a small one waits for it, any number of calls is made: they wait neither for the
// window nor for their acknowledgements. Both messages are acknowledged when their turn has come.
func TestCallsBesideALargeMessage(t *testing.T) {
	a, b := pair()
	a.Send(1, &Out{Kind: Oneway, Large: true, Length: 100})
	a.Send(1, &Out{Kind: Oneway, Length: 8})
	deliver(t, a, b)
	const calls = 1 << (takenBits + 1) // the counts begin anew
	for call := range calls {
		a.Send(1, &Out{Kind: Request, Length: 8})
		for range 2 { // a window that was used up opens by a frame of its own
			deliver(t, a, b)
			for m, ok := b.PollDelivery(); ok; m, ok = b.PollDelivery() {
				b.Taken(1, m)
				b.Send(1, &Out{Kind: Response, Call: m.Call, Length: 8})
			}
			deliver(t, b, a)
			for m, ok := a.PollDelivery(); ok; m, ok = a.PollDelivery() {
				a.Taken(1, m)
			}
		}
		if w := a.Window(); w.Calls > 0 || w.Unacknowledged > 2+1 {
			t.Fatalf("call %d: %+v", call, w)
		}
	}
	fetch, _ := b.PollFetch(1000)
	b.Fetched(fetch.Message, fetch.Length)
	for m, ok := b.PollDelivery(); ok; m, ok = b.PollDelivery() {
		b.Taken(1, m)
	}
	deliver(t, b, a)
	if w := a.Window(); w.Unacknowledged > 0 {
		t.Errorf("%+v", w)
	}
}
