package agent

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// newServer is an agent on this machine.
func newServer(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- Serve(listener) }()
	t.Cleanup(func() {
		listener.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

func TestRun(t *testing.T) {
	address := newServer(t)
	tests := []struct {
		name   string
		args   []string
		output string
		status int
	}{
		{"output", []string{"echo", "hello"}, "hello\n", 0},
		{"both outputs", []string{"sh", "-c", "echo a; echo b >&2"}, "b", 0},
		{"status", []string{"sh", "-c", "echo why; exit 3"}, "why", 3},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			output, err := Run(t.Context(), address, test.args...)
			var exit *ExitError
			if test.status == 0 && err != nil || test.status != 0 && (!errors.As(err, &exit) || exit.Status != test.status) {
				t.Errorf("error %v, want status %d", err, test.status)
			}
			if !strings.Contains(output, test.output) {
				t.Errorf("output %q, want %q", output, test.output)
			}
		})
	}
	if _, err := Run(t.Context(), address, "/no/such/program"); err == nil {
		t.Error("a program that does not exist ran")
	}
}

func TestConversation(t *testing.T) {
	c, err := Start(t.Context(), newServer(t), "cat")
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(c)
	for _, line := range []string{"one\n", "two\n"} {
		if _, err := io.WriteString(c, line); err != nil {
			t.Fatal(err)
		}
		if got, err := lines.ReadString('\n'); got != line || err != nil {
			t.Fatalf("%q, %v; want %q back", got, err, line)
		}
	}
	if err := c.CloseInput(); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
}

func TestCommandEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := Run(ctx, newServer(t), "sleep", "20")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want that the time is over", err)
	}
	if time.Since(start) > 5*time.Second {
		t.Error("it did not end in time")
	}
}

func TestKillEndsWhatTheCommandStarted(t *testing.T) {
	address := newServer(t)
	c, err := Start(t.Context(), address, "sh", "-c", "echo $$; sleep 60 & wait")
	if err != nil {
		t.Fatal(err)
	}
	group, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	c.Kill()
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if _, err := Run(t.Context(), address, "sh", "-c", "kill -0 -- -"+strings.TrimSpace(group)); err != nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("a process is left")
		}
	}
}

func FuzzReadFrame(f *testing.F) {
	var seed bytes.Buffer
	if err := (&frameWriter{w: &seed}).write(frameInput, []byte("text")); err != nil {
		f.Fatal(err)
	}
	f.Add(seed.Bytes())
	f.Add([]byte{9, 0, 0, 0, 0})
	f.Add([]byte{1, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, b []byte) {
		kind, payload, err := readFrame(bytes.NewReader(b))
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := (&frameWriter{w: &again}).write(kind, payload); err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(b, again.Bytes()) {
			t.Errorf("%x became %x", b, again.Bytes())
		}
	})
}
