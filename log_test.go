package braid

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
)

// logbook is a handler that keeps what it is told, as lines.
type logbook struct {
	lines chan string
	gate  sync.Mutex // held: it takes nothing
}

// keepLog takes the place of the default logger until the test is over.
func keepLog(t *testing.T) *logbook {
	t.Helper()
	b := &logbook{lines: make(chan string, 10*logsWaiting)}
	before := slog.Default()
	slog.SetDefault(slog.New(b))
	t.Cleanup(func() { slog.SetDefault(before) })
	return b
}

func (b *logbook) Enabled(context.Context, slog.Level) bool { return true }
func (b *logbook) WithAttrs([]slog.Attr) slog.Handler       { return b }
func (b *logbook) WithGroup(string) slog.Handler            { return b }

func (b *logbook) Handle(_ context.Context, r slog.Record) error {
	b.gate.Lock()
	defer b.gate.Unlock()
	line := r.Level.String() + " " + r.Message
	r.Attrs(func(a slog.Attr) bool {
		line += " " + a.String()
		return true
	})
	b.lines <- line
	return nil
}

// want waits for a line with some texts, and no other before it.
func (b *logbook) want(t *testing.T, texts ...string) {
	t.Helper()
	select {
	case line := <-b.lines:
		for _, text := range texts {
			if !strings.Contains(line, text) {
				t.Errorf("logged %q, want %q", line, texts)
			}
		}
	case <-soon(t).Done():
		t.Fatalf("nothing is logged, want %q", texts)
	}
}

func TestLogInfo(t *testing.T) {
	book := keepLog(t)
	l := listen(t, open(t, Config{}))
	c := open(t, Config{Log: LogInfo})
	a, b := dialled(t, c, l)
	book.want(t, "INFO braid: channel channel=0", "peer="+a.RemoteAddr().String())
	setCarrier(t, a, CarrierTCP)
	book.want(t, "WARN braid: channel moved to TCP", "reason=on command")
	setCarrier(t, a, CarrierUDP)
	book.want(t, "INFO braid: channel moved to UDP", "reason=on command")
	if err := c.operatorSet(map[string]string{"keepalive": "7s", "filter": "off"}, false); err != nil {
		t.Fatal(err)
	}
	book.want(t, "INFO braid: an operator changed parameters", "keepalive=7s", "filter=off")
	b.Close()
	book.want(t, "INFO braid: channel closed", "reason=")
}

// With warn what is well is left out; with off all is.
func TestLogWarn(t *testing.T) {
	book := keepLog(t)
	l := listen(t, open(t, Config{}))
	c := open(t, Config{})
	a, _ := dialled(t, c, l)
	if err := c.Set("log", "warn"); err != nil {
		t.Fatal(err)
	}
	c.tracer.tellSlow(&Slow{Phase: PhasePoll, Took: time.Second, Threshold: time.Millisecond, Place: "here"})
	book.want(t, "WARN braid: slow phase=poll took=1s threshold=1ms place=here")
	other, _ := dialled(t, c, l)
	other.end(ErrPeer)
	book.want(t, "WARN braid: channel failed channel=1", "reason="+ErrPeer.Error())
	if err := c.Set("log", "off"); err != nil {
		t.Fatal(err)
	}
	a.end(ErrPeer)
	if err := c.Set("log", "loud"); err == nil {
		t.Error("there is no such level")
	}
	c.Close()
	if len(book.lines) > 0 {
		t.Errorf("logged as well: %q", <-book.lines)
	}
}

// A log that takes nothing does not hold the context up, nor does it get more than there is room for.
func TestLogIsStuck(t *testing.T) {
	book := keepLog(t)
	book.gate.Lock()
	client, server := pair(t, Config{Log: LogWarn})
	go server.Serve(t.Context(), echo)
	j := &client.context.journal
	for range 1000 {
		client.context.tracer.tellSlow(&Slow{})
	}
	for range 10 {
		m, err := client.Call(soon(t), []byte("hello"))
		if err != nil {
			t.Fatal(err)
		}
		m.Release()
	}
	j.mu.Lock()
	if n := len(j.waiting); n > logsWaiting || j.dropped < 1000-2*logsPerSecond-logsWaiting { // a second may have passed, or two
		t.Errorf("%d wait, %d are left out", n, j.dropped)
	}
	j.second = time.Time{} // another second
	j.mu.Unlock()
	book.gate.Unlock()
	for range logsPerSecond {
		book.want(t, "slow")
	}
	client.context.tracer.tellSlow(&Slow{})
	for {
		select {
		case line := <-book.lines:
			if strings.Contains(line, "left_out=") {
				return
			}
		case <-soon(t).Done():
			t.Fatal("it is not told that some were left out")
		}
	}
}
