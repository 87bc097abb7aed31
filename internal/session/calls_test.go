package session

import (
	"math/rand/v2"
	"testing"
)

// Calls are found by their numbers, however old they are, and end in the order in which they were made.
func TestOpenCalls(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var calls openCalls
	open := map[uint32]*Out{}
	number := ^uint32(0) - 5000 // numbers begin anew
	for range 20000 {
		number++
		m := &Out{Call: number}
		calls.add(m)
		open[number] = m
		for n, m := range open {
			if found := calls.find(n); found != m {
				t.Fatalf("call %d is %v", n, found)
			}
			if n%1000 > 0 { // which stay
				calls.remove(m)
				delete(open, n)
			}
			if r.IntN(4) == 0 {
				break
			}
		}
		if calls.count != len(open) || calls.find(number+1) != nil {
			t.Fatalf("%d calls, want %d", calls.count, len(open))
		}
	}
	all := calls.takeAll()
	if len(all) != len(open) || len(all) < 20 || calls.count != 0 {
		t.Fatalf("%d calls end, want %d", len(all), len(open))
	}
	for i, m := range all[1:] {
		if int32(m.Call-all[i].Call) <= 0 {
			t.Fatalf("call %d ends after %d", m.Call, all[i].Call)
		}
	}
}

// Whoever has made a call has a receive for the response to the next one before it is made, and the peer's window is open
// without more: neither message has to wait for a receive.
func TestReceiveInAdvance(t *testing.T) {
	a, b := pair()
	pass := func(from, to *Session) *In {
		f, ok := from.PollFrame(1, nil)
		if !ok || !f.Last {
			t.Fatalf("the frame %v, of several: %v", f, !f.Last)
		}
		in := &In{}
		if _, err := to.Arrived(1, f.Immediate, append(f.Header, make([]byte, f.Message.Length)...), in); err != nil {
			t.Fatal(err)
		}
		to.PollDelivery()
		to.Taken(1, in)
		return in
	}
	for call := range 5 {
		a.Send(1, &Out{Kind: Request, Length: 1})
		if pressed := a.Pressed(); pressed != (call == 0) {
			t.Fatalf("call %d waits for a receive: %v", call, pressed)
		}
		if call == 0 {
			a.Posted(a.Wanted())
		}
		request := pass(a, b)
		a.Posted(a.Wanted())
		b.Send(1, &Out{Kind: Response, Call: request.Call, Length: 1})
		if b.Pressed() {
			t.Fatalf("response %d waits for a receive", call)
		}
		pass(b, a)
		b.Posted(b.Wanted())
	}
}

// Calls that are made at a time go in one frame.
func TestReceivesForManyCalls(t *testing.T) {
	a, _ := pair()
	a.Bundle(4096)
	for range 2 { // the first time there is no receive in advance, the second time one
		for range 2 {
			a.Send(1, &Out{Kind: Request, Length: 1})
		}
		if !a.Pressed() {
			t.Error("two calls wait for no receive")
		}
		a.Posted(a.Wanted())
		if f, ok := a.PollFrame(1, nil); !ok || len(f.More) != 1 || !f.Last {
			t.Errorf("a frame with %d further calls", len(f.More))
		}
		a.Posted(a.Wanted())
	}
}

// A peer that uses up what it was told of its window is given more, also where it is never told of all.
func TestWindowGrowsBehindItsNews(t *testing.T) {
	a, b := pair()
	pass := func(from, to *Session, m *Out) {
		from.Send(1, m)
		f, ok := from.PollFrame(1, nil)
		if !ok {
			t.Fatal("the window is closed")
		}
		in := &In{}
		if _, err := to.Arrived(1, f.Immediate, append(f.Header, make([]byte, m.Length)...), in); err != nil {
			t.Fatal(err)
		}
		to.PollDelivery()
		to.Taken(1, in)
	}
	for range 5 {
		for range a.Window().Sendable {
			pass(a, b, &Out{Kind: Oneway, Length: 1})
			b.Posted(min(1, b.Wanted())) // one at a time
		}
		pass(b, a, &Out{Kind: Oneway, Length: 1})
		b.Posted(b.Wanted()) // too late for the frame to tell
		a.Posted(a.Wanted())
	}
	if n := a.Window().Sendable; n <= 4 {
		t.Errorf("the window is %d messages", n)
	}
}
