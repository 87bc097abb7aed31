package operate

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestProgramThatStops checks that an operator does not wait without end for a program that was stopped after it said who it is, and is told which it is.
func TestProgramThatStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Remote(Identity{PID: 4711, Number: 1, Program: "serve"}, func(ctx context.Context, _ []byte) ([]byte, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		})
		if _, err := p.Parameters(context.Background()); !errors.Is(err, ErrSilent) || !strings.Contains(err.Error(), "serve (4711.1)") {
			t.Error(err)
		}
		began := time.Now()
		if _, err := p.Gather(context.Background(), maxTook); !errors.Is(err, ErrSilent) || time.Since(began) < maxTook {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// TestWhatProgramsSayIsPlain checks that a program has no control over the terminal on which an operator, who may be root, reads what it says.
func TestWhatProgramsSayIsPlain(t *testing.T) {
	for said, want := range map[string]string{
		`"\u001b[2J\u009B2J\u007f"`: "\ufffd[2J\ufffd2J\ufffd", "\"\u009b2J\x7f\"": "\ufffd2J\ufffd", `"a\rb\bc\f"`: "a\ufffdb\ufffdc\ufffd",
		`"one\n\ttwo\u000a"`: "one\n\ttwo\n", `"\\u001b \"\\\\\" ü \u00fc \ud83d\ude00 😀"`: "\\u001b \"\\\\\" ü ü 😀 😀",
	} {
		p := Remote(Identity{}, func(context.Context, []byte) ([]byte, error) {
			return []byte(`{"schema":1,"result":[{"by":` + said + "}]}\r\n"), nil
		})
		changes, err := p.History(t.Context())
		if err != nil || len(changes) != 1 || changes[0].By != want {
			t.Errorf("%s: %+v, %v; want %q", said, changes, err, want)
		}
	}
	p := Remote(Identity{}, func(context.Context, []byte) ([]byte, error) { return []byte(`{"schema":1,"error":"\u001b]0;"}`), nil })
	if _, err := p.History(t.Context()); err == nil || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("refused: %q", err)
	}
	for _, cut := range []string{`\`, `\u`, `\u001`, `{"a`, "\xc2"} {
		if got := plain([]byte(cut)); string(got) != cut {
			t.Errorf("%q became %q", cut, got)
		}
	}
}
