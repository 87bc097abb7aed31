package rxe

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// perftestPort is that of perftest's programs.
const perftestPort = 18515

// perftestCase is a run of one of perftest's programs against the command.
type perftestCase struct {
	op, metric string
	args       []string // understood by both
}

// program is the one of perftest.
func (c perftestCase) program() string { return "ib_" + c.op + "_" + c.metric }

var perftestCases = []perftestCase{
	{"send", "bw", []string{"-s", "65536", "-n", "50"}},
	{"send", "bw", []string{"-s", "1000", "-n", "500", "-q", "3"}},
	{"write", "bw", []string{"-s", "65536", "-n", "50"}},
	{"write", "bw", []string{"-s", "3000", "-n", "200", "-q", "4", "-m", "512"}},
	{"read", "bw", []string{"-s", "65536", "-n", "50"}},
	{"read", "bw", []string{"-s", "1000000", "-n", "5", "-q", "2"}},
	{"atomic", "bw", []string{"-n", "200"}},
	{"send", "lat", []string{"-s", "2", "-n", "200"}},
	{"send", "lat", []string{"-s", "10000", "-n", "50"}},
	{"write", "lat", []string{"-s", "2", "-n", "200"}},
	{"write", "lat", []string{"-s", "10000", "-n", "300"}},
	{"read", "lat", []string{"-s", "2", "-n", "200"}},
	{"atomic", "lat", []string{"-n", "200"}},
}

// patience makes both ends wait long for an acknowledgement: the machine may
// have to share its processor.
var patience = []string{"-u", "18"}

// programArgs are the program and its options.
func (c perftestCase) programArgs(more ...string) []string {
	return slices.Concat([]string{c.program(), "-d", "rxe0", "-F"}, c.args, patience, more)
}

// serves tells whether `braid perf serve` can be the server of a test.
func (c perftestCase) serves() bool {
	return c.metric == "bw" || c.op == "read" || c.op == "atomic"
}

func TestPerftest(t *testing.T) {
	guest(t)
	for _, c := range perftestCases {
		name := c.program() + " " + strings.Join(c.args, " ")
		t.Run(name+"/braid is client", func(t *testing.T) { perftestClient(t, c) })
		t.Run(name+"/braid is server", func(t *testing.T) {
			perftestServer(t, c, []string{"perf", c.op, c.metric, "--compat", "perftest"}, slices.Concat(c.args, patience))
		})
		if c.serves() {
			t.Run(name+"/braid serves", func(t *testing.T) {
				perftestServer(t, c, []string{"perf", "serve", "--once", "--compat", "perftest"}, nil)
			})
		}
	}
}

// braidCommand is the command braid, on this host's end of the link.
func braidCommand(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, filepath.Join(os.Getenv(imageVariable), "braid"), args...)
}

func perftestClient(t *testing.T, c perftestCase) {
	ctx, cancel := context.WithTimeout(t.Context(), playTime)
	defer cancel()
	server, err := guest(t).Start(ctx, c.programArgs()...)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Kill()
	server.Discard()
	awaitListener(ctx, t, perftestPort)
	args := slices.Concat([]string{"perf", c.op, c.metric, "--compat", "perftest", guestAddr.String()}, c.args, patience)
	output, err := braidCommand(ctx, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("braid: %v\n%s\n%s", err, output, server.Output())
	}
	wantIterations(t, c, string(output))
	if err := server.Wait(); err != nil {
		t.Fatal(err)
	}
}

func perftestServer(t *testing.T, c perftestCase, command, options []string) {
	ctx, cancel := context.WithTimeout(t.Context(), playTime)
	defer cancel()
	server := braidCommand(ctx, append(command, options...)...)
	output := newAnnounced()
	server.Stdout, server.Stderr = output, output
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-output.listening:
	case <-ctx.Done():
		t.Fatalf("braid does not listen: %s", output)
	}
	text, err := guest(t).Run(ctx, c.programArgs(hostAddr.String())...)
	if err != nil {
		cancel()
	}
	if err := errors.Join(err, server.Wait()); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	wantIterations(t, c, text)
}

// announced keeps the output of a server and tells when it listens.
type announced struct {
	mu        sync.Mutex
	text      bytes.Buffer
	listening chan struct{} // closed when it does
	once      sync.Once
}

func newAnnounced() *announced { return &announced{listening: make(chan struct{})} }

func (a *announced) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.text.Write(p)
	if strings.Contains(a.text.String(), "listening on ") {
		a.once.Do(func() { close(a.listening) })
	}
	return len(p), nil
}

func (a *announced) String() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.text.String()
}

// wantIterations checks that a table of results has a row with all operations.
func wantIterations(t *testing.T, c perftestCase, table string) {
	t.Helper()
	want := 1
	for i, arg := range c.args {
		if arg == "-n" || arg == "-q" {
			n, err := strconv.Atoi(c.args[i+1])
			if err != nil {
				t.Fatal(err)
			}
			want *= n
		}
	}
	for line := range strings.Lines(table) {
		if fields := strings.Fields(line); len(fields) > 4 && fields[1] == strconv.Itoa(want) {
			return
		}
	}
	t.Errorf("no row with %d operations in:\n%s", want, table)
}
