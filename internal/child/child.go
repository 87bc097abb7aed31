// Package child runs the second process of a tool that shows both ends of a
// connection by itself: the same executable again, with other arguments.
//
//	parent                                child
//	Start(args) ── starts ──────────────> Announce(address)
//	Address() <── "listening on ..." ──── on standard output
//	Close() ───── closes and reaps ─────> standard input ends, and
//	                                      WithParent's context with it
//
// The child ends with the parent in every case: the pipe that it watches is closed by Close on every
// ordinary way out, and by the system when the parent is killed. Close kills one that does not end.
package child

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// announcement is what the child says, followed by its address, when it is
// ready. People who start the server by hand read the same line.
const announcement = "listening on "

// startTimeout bounds the time from the start to the announcement.
const startTimeout = 10 * time.Second

// ErrNoStart is returned when the second process did not become ready.
var ErrNoStart = errors.New("the second process did not start")

// ErrParentGone is the cause of the end of WithParent's context.
var ErrParentGone = errors.New("the parent process is gone")

// Process is a child that has announced itself.
type Process struct {
	cmd     *exec.Cmd
	address string
	stderr  tail
	stdin   io.Closer
	drained chan struct{} // closed when the child's standard output ended
	close   sync.Once
}

// Start runs this executable with arguments and waits until it announces its
// address. The caller closes the process.
func Start(ctx context.Context, args ...string) (*Process, error) {
	executable, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoStart, err)
	}
	p := &Process{cmd: exec.Command(executable, args...), drained: make(chan struct{})}
	p.cmd.Stderr = &p.stderr
	// Descendants of the child that kept its standard error must not hold up Close.
	p.cmd.WaitDelay = time.Second
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoStart, err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoStart, err)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoStart, err)
	}
	if err := p.awaitAnnouncement(ctx, stdout); err != nil {
		p.Close()
		if said := p.stderr.String(); said != "" {
			err = fmt.Errorf("%w; it said: %s", err, said)
		}
		return nil, err
	}
	return p, nil
}

// awaitAnnouncement reads the address from the child's output and leaves a
// goroutine that discards the rest, so that the child never blocks on it.
func (p *Process) awaitAnnouncement(ctx context.Context, stdout io.Reader) error {
	announced := make(chan string, 1)
	go func() {
		defer close(p.drained)
		defer close(announced)
		r := bufio.NewReader(stdout)
		for {
			line, err := r.ReadString('\n')
			if _, address, found := strings.Cut(line, announcement); found {
				announced <- strings.TrimSpace(address)
				_, _ = io.Copy(io.Discard, r)
				return
			}
			if err != nil {
				return
			}
		}
	}()
	timeout := time.NewTimer(startTimeout)
	defer timeout.Stop()
	select {
	case address, ok := <-announced:
		if !ok {
			return ErrNoStart
		}
		p.address = address
		return nil
	case <-timeout.C:
		return fmt.Errorf("%w within %v", ErrNoStart, startTimeout)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Address is what the child announced.
func (p *Process) Address() string { return p.address }

// PID is the child's process number.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// endTime is how long the child may take to end by itself, and to remove what it has made.
const endTime = 2 * time.Second

// Close tells the child to end, kills it if it does not, and reaps it. Closing twice is allowed.
func (p *Process) Close() {
	p.close.Do(func() {
		_ = p.stdin.Close()
		patience := time.NewTimer(endTime)
		defer patience.Stop()
		select {
		case <-p.drained:
		case <-patience.C:
			_ = p.cmd.Process.Kill()
			<-p.drained
		}
		_ = p.cmd.Wait()
	})
}

// Announce tells the parent, or the user, that this process is ready.
func Announce(w io.Writer, address string) error {
	_, err := fmt.Fprintf(w, "%s%s\n", announcement, address)
	return err
}

// WithParent is a context that ends when stdin does: a child that Start made
// has a pipe there, which its parent holds open for as long as it lives.
func WithParent(ctx context.Context, stdin io.Reader) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		cancel(ErrParentGone)
	}()
	return ctx, func() { cancel(context.Canceled) }
}

// tail keeps the last bytes of what a process wrote.
type tail struct {
	mu   sync.Mutex
	last []byte
}

// maxTail bounds what an error quotes of the child.
const maxTail = 1000

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = append(t.last, b...)
	if extra := len(t.last) - maxTail; extra > 0 {
		t.last = append(t.last[:0], t.last[extra:]...)
	}
	return len(b), nil
}

// String is what was kept, without surrounding space.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.last))
}
