package session

import (
	"errors"
	"testing"
)

// A message that the program leaves lying does not keep the peer from being told of what comes behind it, however much
// that is: control frames stay short, and what is not acknowledged stays little.
func TestMessageLeftLying(t *testing.T) {
	for name, tt := range map[string]struct {
		lying Kind // is in the same sequence as the responses
		large bool
	}{"large responses": {Oneway, true}, "small ones": {Request, false}} {
		t.Run(name, func(t *testing.T) {
			a, b := pair()
			b.Send(1, &Out{Kind: tt.lying, Length: 8})
			b.Posted(b.Wanted())
			deliver(t, b, a)
			lying, ok := a.PollDelivery()
			if !ok {
				t.Fatal("nothing has come")
			}
			for call := range 1 << (takenBits + 1) { // the counts begin anew
				callFor(t, a, b, tt.large)
				if w := b.Window(); w.Unacknowledged > maxBehind+16 {
					t.Fatalf("call %d: %+v", call, w)
				}
			}
			if held := a.Window().Held; held != 1 {
				t.Errorf("the program holds %d messages, want 1", held)
			}
			a.Taken(1, lying)
			callFor(t, a, b, tt.large)
			if w := b.Window(); w.Unacknowledged > 16 {
				t.Errorf("when it has received the message: %+v", w)
			}
		})
	}
}

// callFor makes a call, which is responded to.
func callFor(t *testing.T, a, b *Session, large bool) {
	t.Helper()
	a.Send(1, &Out{Kind: Request, Length: 8})
	deliver(t, a, b)
	for m, ok := b.PollDelivery(); ok; m, ok = b.PollDelivery() {
		b.Taken(1, m)
		b.Send(1, &Out{Kind: Response, Call: m.Call, Length: 8, Large: large})
	}
	deliver(t, b, a)
	for f, ok := a.PollFetch(8); ok; f, ok = a.PollFetch(8) {
		a.Fetched(f.Message, f.Length)
	}
	for m, ok := a.PollDelivery(); ok; m, ok = a.PollDelivery() {
		a.Taken(1, m)
	}
	b.Posted(b.Wanted())
	for f, ok := a.PollFrame(1, nil); ok; f, ok = a.PollFrame(1, nil) {
		const shortest = 128 // receives that a peer may have
		if len(f.Header) > shortest {
			t.Fatalf("a control frame of %d bytes", len(f.Header))
		}
		if _, err := b.Arrived(1, f.Immediate, f.Header, &In{}); err != nil {
			t.Fatal(err)
		}
	}
	deliver(t, b, a)
}

// A peer that calls without end and never acknowledges a response ends its channel.
func TestMutePeer(t *testing.T) {
	a, b := pair()
	for call := range 2 * maxUnacknowledged {
		a.Send(1, &Out{Kind: Request, Length: 8})
		a.Posted(a.Wanted())
		f, ok := a.PollFrame(1, nil)
		if !ok {
			t.Fatalf("call %d is not sent", call)
		}
		const told = takenMask | 1<<takenBits // that it has received any
		if _, err := b.Arrived(1, f.Immediate&^told, append(f.Header, make([]byte, 8)...), &In{}); err != nil {
			if !errors.Is(err, ErrPeer) || b.Window().Unacknowledged < 1<<takenBits {
				t.Errorf("call %d: %v", call, err)
			}
			return
		}
		for m, ok := b.PollDelivery(); ok; m, ok = b.PollDelivery() {
			b.Taken(1, m)
			b.Send(1, &Out{Kind: Response, Call: m.Call, Length: 8})
		}
		b.Posted(b.Wanted())
		deliver(t, b, a)
		for m, ok := a.PollDelivery(); ok; m, ok = a.PollDelivery() {
			a.Taken(1, m)
		}
	}
	t.Errorf("%d responses wait for the peer", b.Window().Unacknowledged)
}
