//go:build unix

package child

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain makes the test binary play the child when its first argument names
// a part; Start runs the test binary, which is this executable.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "play-server":
			fmt.Println("a line before")
			Announce(os.Stdout, "127.0.0.1:4711")
			ctx, cancel := WithParent(context.Background(), os.Stdin)
			defer cancel()
			<-ctx.Done()
			os.Exit(0)
		case "play-failure":
			fmt.Fprintln(os.Stderr, "the port is in use")
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

func TestStartAndClose(t *testing.T) {
	p, err := Start(t.Context(), "play-server")
	if err != nil {
		t.Fatal(err)
	}
	if p.Address() != "127.0.0.1:4711" {
		t.Errorf("address %q", p.Address())
	}
	if err := syscall.Kill(p.PID(), 0); err != nil {
		t.Errorf("the child does not run: %v", err)
	}
	p.Close()
	p.Close()
	if err := syscall.Kill(p.PID(), 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("after Close the process exists still, or was not reaped: %v", err)
	}
}

func TestStartQuotesTheChild(t *testing.T) {
	_, err := Start(t.Context(), "play-failure")
	if !errors.Is(err, ErrNoStart) || !strings.Contains(err.Error(), "the port is in use") {
		t.Fatalf("error %v, want ErrNoStart with the child's words", err)
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p, err := Start(ctx, "play-server")
	if err == nil {
		// The announcement may have been first; then the child is ours to close.
		p.Close()
	} else if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want context.Canceled", err)
	}
}

func TestWithParentEndsWithStdin(t *testing.T) {
	r, w := io.Pipe()
	ctx, cancel := WithParent(t.Context(), r)
	defer cancel()
	w.Write([]byte("ignored"))
	if ctx.Err() != nil {
		t.Fatal("the context ended while the parent lives")
	}
	w.Close()
	select {
	case <-ctx.Done():
	case <-time.After(2 * time.Minute):
		t.Fatal("the context did not end")
	}
	if !errors.Is(context.Cause(ctx), ErrParentGone) {
		t.Fatalf("cause %v", context.Cause(ctx))
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	var last tail
	for i := range 1000 {
		fmt.Fprintf(&last, "line %d\n", i)
	}
	if text := last.String(); len(text) > maxTail || !strings.HasSuffix(text, "line 999") {
		t.Errorf("kept %d bytes that end in %q", len(text), text[len(text)-10:])
	}
}
