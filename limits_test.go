package braid

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/braid-rdma/braid/cm"
)

// A message may be as long as the receiving side allows, as a message, a request and a response, and not a byte longer:
// that is told to its sender, and the channel goes on. BRAID_LONG=1 makes it the longest that there is, 1 GiB.
func TestMaxMessage(t *testing.T) {
	n := 3<<20 + 1 // the last fragment has one byte
	if os.Getenv("BRAID_LONG") == "1" {
		n = maxMessage
	}
	a, b := pair(t, Config{MaxMessage: n})
	tooLong := longPayload(n + 1)
	longest := tooLong[:n]

	sent := make(chan error, 1)
	go func() { sent <- a.Send(soon(t), longest) }()
	m, err := b.Receive(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(m.Bytes(), longest) {
		t.Errorf("%d bytes arrive as %d others", n, m.Len())
	}
	m.Release()
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	if err := a.Send(soon(t), tooLong); !errors.Is(err, ErrTooLong) {
		t.Errorf("Send of a byte more: %v", err)
	}
	if _, err := a.Call(soon(t), tooLong); !errors.Is(err, ErrTooLong) {
		t.Errorf("Call with a byte more: %v", err)
	}
	go b.Serve(t.Context(), func(_ context.Context, m *Msg) ([]byte, error) {
		if m.Len() == 0 {
			return tooLong, nil
		}
		return m.Bytes(), nil
	})
	response, err := a.Call(soon(t), longest)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(response.Bytes(), longest) {
		t.Errorf("the response to %d bytes is %d others", n, response.Len())
	}
	response.Release()
	var failed *CallError
	if _, err := a.Call(soon(t), nil); !errors.As(err, &failed) || !strings.Contains(failed.Reason, ErrTooLong.Error()) {
		t.Errorf("a response with a byte more: %v", err)
	}
}

// longPayload is payload for lengths at which a random number for each byte would take long. No two fragments are alike.
func longPayload(n int) []byte {
	b, pattern := make([]byte, n), payload(64<<10-1)
	for rest := b; len(rest) > 0; {
		rest = rest[copy(rest, pattern):]
	}
	return b
}

// The bound is the receiver's, so the two directions may differ.
func TestMaxMessageOfEachEnd(t *testing.T) {
	l := listen(t, open(t, Config{MaxMessage: 10000}))
	a, err := open(t, Config{MaxMessage: 5000}).Dial(soon(t), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	b, err := l.Accept(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	go a.Send(t.Context(), payload(10000))
	m, err := b.Receive(soon(t))
	if err != nil || m.Len() != 10000 {
		t.Fatalf("10,000 bytes: %v", err)
	}
	m.Release()
	if err := b.Send(soon(t), payload(5001)); !errors.Is(err, ErrTooLong) {
		t.Errorf("5,001 bytes back: %v", err)
	}
}

// Only calls have a response, and each has one. A response that was refused leaves the call open.
func TestErrNotCall(t *testing.T) {
	a, b := pair(t, Config{MaxMessage: 1 << 20})
	if err := a.Send(soon(t), []byte("no call")); err != nil {
		t.Fatal(err)
	}
	m, err := b.Receive(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Reply(soon(t), []byte("thanks")); !errors.Is(err, ErrNotCall) {
		t.Errorf("Reply to a message: %v", err)
	}
	if err := m.Fail(soon(t), errors.New("no")); !errors.Is(err, ErrNotCall) {
		t.Errorf("Fail of a message: %v", err)
	}
	m.Release()

	type result struct {
		text string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		m, err := a.Call(soon(t), []byte("call"))
		if err != nil {
			done <- result{"", err}
			return
		}
		done <- result{string(m.Bytes()), nil}
		m.Release()
	}()
	if m, err = b.Receive(soon(t)); err != nil {
		t.Fatal(err)
	}
	if err := m.Reply(soon(t), make([]byte, 1<<20+1)); !errors.Is(err, ErrTooLong) {
		t.Errorf("a reply that is too long: %v", err)
	}
	if err := m.Reply(soon(t), []byte("first")); err != nil {
		t.Error(err)
	}
	if err := m.Reply(soon(t), []byte("second")); !errors.Is(err, ErrNotCall) {
		t.Errorf("a second reply: %v", err)
	}
	if err := m.Fail(soon(t), errors.New("no")); !errors.Is(err, ErrNotCall) {
		t.Errorf("Fail after the reply: %v", err)
	}
	m.Release()
	if r := <-done; r.err != nil || r.text != "first" {
		t.Errorf("the caller has %q, %v", r.text, r.err)
	}
}

// A context that has all its channels makes no other, and says so to who dials from it; a peer is refused, and told why. The place of
// a channel that has ended is free.
func TestErrLimit(t *testing.T) {
	few, many := open(t, Config{Channels: 1, Linger: -1}), open(t, Config{Linger: -1})
	lf, lm := listen(t, few), listen(t, many)
	only, err := few.Dial(soon(t), lm.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := few.Dial(soon(t), lm.Addr().String()); !errors.Is(err, ErrLimit) {
		t.Errorf("a second channel: %v", err)
	}
	var reject *cm.RejectError
	if _, err := many.Dial(soon(t), lf.Addr().String()); !errors.Is(err, ErrRejected) || !errors.As(err, &reject) || !strings.Contains(string(reject.PrivateData), ErrLimit.Error()) {
		t.Errorf("a channel from elsewhere: %v", err)
	}
	only.Close()
	// A copy of the refused request that comes late may have the place until its sender has denied it.
	again, err := few.Dial(soon(t), lm.Addr().String())
	for end := soon(t); errors.Is(err, ErrLimit) && end.Err() == nil; {
		again, err = few.Dial(end, lm.Addr().String())
	}
	if err != nil {
		t.Fatalf("the place of the first: %v", err)
	}
	again.Close()
}

// Where nobody listens, or no longer, a dial is refused at once; that is one way to be rejected.
func TestErrRefused(t *testing.T) {
	c := open(t, Config{})
	l := listen(t, open(t, Config{}))
	address := l.Addr().String()
	ch, err := c.Dial(soon(t), address)
	if err != nil {
		t.Fatal(err)
	}
	ch.Close()
	l.Close()
	if _, err := c.Dial(soon(t), address); !errors.Is(err, ErrRefused) || !errors.Is(err, ErrRejected) {
		t.Errorf("nobody listens any more: %v", err)
	}
}
