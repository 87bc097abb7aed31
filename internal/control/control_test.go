package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/braid-rdma/braid/verbs"
)

// pipe is a session whose two ends are in this process.
type pipe struct {
	in, out chan []byte
	done    chan struct{}
}

func (p *pipe) Send(_ context.Context, data []byte) error {
	if len(data) > maxPiece {
		return ErrMalformed
	}
	p.out <- data
	return nil
}

func (p *pipe) Receive(ctx context.Context) ([]byte, error) {
	select {
	case data := <-p.in:
		return data, nil
	default:
	}
	select {
	case data := <-p.in:
		return data, nil
	case <-p.done:
		return nil, p.Err()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipe) Done() <-chan struct{} { return p.done }

func (p *pipe) Err() error {
	select {
	case <-p.done:
		return ErrPeerLost
	default:
		return nil
	}
}

// pair is two ends of a conversation, and a function that breaks it.
func pair() (a, b *Talk, lose func()) {
	left, right, done := make(chan []byte, 64), make(chan []byte, 64), make(chan struct{})
	a = &Talk{session: &pipe{in: left, out: right, done: done}}
	b = &Talk{session: &pipe{in: right, out: left, done: done}}
	return a, b, func() { close(done) }
}

func TestConversation(t *testing.T) {
	client, server, _ := pair()
	for _, length := range []int{0, 1, maxPiece - 100, maxPiece, 10 * maxPiece} {
		sent := strings.Repeat("x", length)
		if err := client.Send(t.Context(), "hello", sent); err != nil {
			t.Fatal(err)
		}
		var got string
		if err := server.Receive(t.Context(), "hello", &got); err != nil || got != sent {
			t.Fatalf("a text of %d bytes came as %d, %v", length, len(got), err)
		}
	}
	if err := client.Send(t.Context(), "hello", strings.Repeat("x", maxMessage)); !errors.Is(err, ErrMalformed) {
		t.Errorf("a message beyond the limit: error %v, want ErrMalformed", err)
	}
}

func TestReceiveRefuses(t *testing.T) {
	tests := []struct {
		name   string
		pieces []string
		want   error
	}{
		{"an empty piece", []string{""}, ErrMalformed},
		{"a piece without its mark", []string{"{}"}, ErrMalformed},
		{"no JSON", []string{"lGET / HTTP/1.1"}, ErrMalformed},
		{"another kind", []string{`l{"kind":"bye"}`}, ErrOutOfStep},
		{"a body of another type", []string{`l{"kind":"hello","body":{}}`}, ErrMalformed},
		{"a failure without a text", []string{`l{"kind":"failure","body":1}`}, ErrMalformed},
	}
	for _, test := range tests {
		client, server, _ := pair()
		for _, piece := range test.pieces {
			client.session.Send(t.Context(), []byte(piece))
		}
		if err := server.Receive(t.Context(), "hello", new(string)); !errors.Is(err, test.want) {
			t.Errorf("%s: error %v, want %v", test.name, err, test.want)
		}
	}
}

func TestReceiveBoundsAMessage(t *testing.T) {
	client, server, _ := pair()
	piece := []byte(strings.Repeat("m", maxPiece))
	for range maxMessage/maxPiece + 2 {
		client.session.Send(t.Context(), piece)
	}
	if err := server.Receive(t.Context(), "hello", new(string)); !errors.Is(err, ErrMalformed) {
		t.Fatalf("error %v, want ErrMalformed", err)
	}
}

func TestFailureReachesThePeer(t *testing.T) {
	client, server, _ := pair()
	server.Fail(errors.New("no such test"))
	err := client.Receive(t.Context(), "welcome", new(any))
	var peer *PeerError
	if !errors.As(err, &peer) || peer.Text != "no such test" {
		t.Fatalf("error %v, want the peer's text", err)
	}
	client.Fail(err)
	if n := len(server.session.(*pipe).in); n != 0 {
		t.Errorf("a failure that came from the peer went back to it")
	}
}

func TestExplainPrefersTheCause(t *testing.T) {
	flushed := fmt.Errorf("write: %w", verbs.ErrFlushed)
	client, server, lose := pair()
	server.Fail(errors.New("out of memory"))
	lose()
	var peer *PeerError
	if err := client.Explain(flushed); !errors.As(err, &peer) {
		t.Errorf("explained as %v, want the peer's text", err)
	}
	if err := client.Explain(flushed); !errors.Is(err, ErrPeerLost) {
		t.Errorf("explained as %v, want ErrPeerLost", err)
	}
	if other := errors.New("other"); !errors.Is(client.Explain(other), other) {
		t.Error("an error that is no flush was explained away")
	}
}

func TestWatchEndsWithTheSession(t *testing.T) {
	client, _, lose := pair()
	ctx, cancel := client.Watch(t.Context())
	defer cancel()
	if ctx.Err() != nil {
		t.Fatal("the context ended before the session")
	}
	lose()
	select {
	case <-ctx.Done():
	case <-time.After(5 * time.Second):
		t.Fatal("the context did not end")
	}
	if cause := context.Cause(ctx); !errors.Is(cause, ErrPeerLost) {
		t.Fatalf("cause %v, want ErrPeerLost", cause)
	}
}

func FuzzReceive(f *testing.F) {
	f.Add([]byte(`l{"kind":"hello","body":1}`), []byte(""))
	f.Add([]byte(`m{"kind":"hel`), []byte(`llo","body":{}}`))
	f.Add([]byte(`l{"kind":"failure","body":"why"}`), []byte("x"))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		client, server, lose := pair()
		client.session.Send(t.Context(), first)
		client.session.Send(t.Context(), second)
		lose()
		var body json.RawMessage
		if err := server.Receive(t.Context(), "hello", &body); err == nil && !json.Valid(body) {
			t.Fatalf("a body that is no JSON: %q", body)
		}
	})
}
