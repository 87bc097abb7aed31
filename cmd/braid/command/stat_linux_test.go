package command

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	middleware "github.com/braid-rdma/braid"
	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/internal/statfile"
)

// statDir has statistics of the test in a directory of their own.
func statDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "braid-test-")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	t.Setenv(statfile.DirVariable, dir)
	return dir
}

// statTraffic has a channel on which messages go until the test ends.
func statTraffic(t *testing.T) {
	t.Helper()
	var contexts [2]*middleware.Context
	for i := range contexts {
		c, err := middleware.Open(middleware.Config{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		contexts[i] = c
	}
	l, err := contexts[0].Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{}, 2)
	go func() {
		_ = l.Serve(ctx, func(_ context.Context, m *middleware.Msg) ([]byte, error) { return m.Bytes(), nil })
		done <- struct{}{}
	}()
	ch, err := contexts[1].Dial(ctx, l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	begun := make(chan struct{})
	go func() {
		for n := 0; ctx.Err() == nil; n++ {
			if m, err := ch.Call(ctx, make([]byte, 64)); err == nil {
				m.Release()
			}
			if n == 0 {
				close(begun)
			}
		}
		done <- struct{}{}
	}()
	<-begun
	t.Cleanup(func() {
		stop()
		<-done
		<-done
	})
}

func TestStat(t *testing.T) {
	dir := statDir(t)
	code, stdout, _ := braid(t, "stat")
	if code != cli.ExitOK || !strings.Contains(stdout, "no program") {
		t.Errorf("nothing: exit code %d, %q", code, stdout)
	}
	statTraffic(t)
	code, stdout, stderr := braid(t, "stat", "--interval", "200ms")
	if code != cli.ExitOK || stderr != "" || strings.Count(stdout, "context ") != 2 || strings.Count(stdout, " open ") != 2 || !strings.Contains(stdout, "TX msg/s") {
		t.Errorf("exit code %d, %q\n%s", code, stderr, stdout)
	}
	pid := strconv.Itoa(os.Getpid())
	if _, stdout, _ := braid(t, "__complete", "stat", ""); !strings.Contains(stdout, pid+"\t") {
		t.Errorf("completion offers %q", stdout)
	}
	if _, stdout, _ := braid(t, "stat", "--interval", "0", "1"); strings.Contains(stdout, "context ") && strings.Contains(stdout, pid) {
		t.Errorf("of another process: %s", stdout)
	}
	if err := os.WriteFile(filepath.Join(dir, "ctx-1-1-x"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr = braid(t, "stat", "--interval", "0", pid)
	if code != cli.ExitOK || strings.Count(stderr, "not a file of statistics") != 1 || strings.Count(stdout, "context ") != 2 {
		t.Errorf("beside a corrupt file: exit code %d, %q\n%s", code, stderr, stdout)
	}
}

func TestStatJSON(t *testing.T) {
	statDir(t)
	statTraffic(t)
	code, stdout, _ := braid(t, "stat", "--json", "-i", "300ms")
	var got statJSON
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != cli.ExitOK {
		t.Fatalf("exit code %d, %v: %s", code, err, stdout)
	}
	if got.Schema != "braid.stat/1" || len(got.Contexts) != 2 {
		t.Fatalf("%+v", got)
	}
	for _, c := range got.Contexts {
		if c.PID != os.Getpid() || !c.Alive || len(c.Channels) != 1 || c.Stats["channels"] != 1 || c.Stats["frame_bytes"] == 0 {
			t.Errorf("%+v", c)
			continue
		}
		if ch := c.Channels[0]; ch.Rates.Sent == 0 || ch.Rates.ReceivedBytes == 0 || ch.Stats["sent"] == 0 || ch.State != "open" || ch.Peer == "" {
			t.Errorf("%+v", ch)
		}
	}
}

// It shows again and again, and ends well when it is interrupted.
func TestStatWatch(t *testing.T) {
	statDir(t)
	statTraffic(t)
	ctx, interrupt := context.WithCancel(t.Context())
	r, w := io.Pipe()
	ended := make(chan int, 1)
	var stderr bytes.Buffer
	go func() {
		ended <- New(light()).Run(ctx, []string{"stat", "--watch", "--json", "-i", "20ms"}, strings.NewReader(""), w, &stderr)
		w.Close()
	}()
	d := json.NewDecoder(r)
	var last int64
	for i := range 3 {
		var got statJSON
		if err := d.Decode(&got); err != nil {
			t.Fatal(err)
		}
		if sent := got.Contexts[0].Channels[0].Stats["sent"]; sent < last {
			t.Errorf("look %d: %d messages sent, %d before", i, sent, last)
		} else {
			last = sent
		}
	}
	interrupt()
	_, _ = io.Copy(io.Discard, r)
	if code := <-ended; code != cli.ExitOK || stderr.Len() != 0 {
		t.Errorf("exit code %d, %q", code, stderr.String())
	}
}

func TestShortTime(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0s": 0, "1.23µs": 1234, "123µs": 123456, "1.5s": 1500 * time.Millisecond, "3h0m0s": 3*time.Hour + time.Second,
	} {
		if got := shortTime(d).String(); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

// A program can publish whatever it likes, and one of another version nothing of when a channel was active: the command ends all the same.
func TestStatOfNonsense(t *testing.T) {
	c := &middleware.PublishedContext{Read: time.Now(), Channels: []middleware.PublishedChannel{{Stats: middleware.Stats{RTT: math.MaxInt64}}}}
	var b strings.Builder
	printContext(&b, c, nil)
	if !strings.Contains(b.String(), "2561111h6m40s") {
		t.Errorf("got %s", b.String())
	}
}
