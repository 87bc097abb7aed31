package braid

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// childVariable makes the test binary a second process, which is killed.
const childVariable = "BRAID_TEST_CHILD"

// impatient is a configuration that notices a dead peer soon.
var impatient = Config{Keepalive: 200 * time.Millisecond, Patience: 2 * time.Second, Linger: -1, Mock: MockOff}

// beChild serves, or dials the address that it is given and sends without end; with a prefix it
// calls instead. What it has handled, or which calls have succeeded, it tells at once: eight bytes for each.
func beChild(role string) int {
	if run := childRoles[role]; run != nil {
		if err := run(); err != nil {
			fmt.Println(err)
			return 1
		}
		return 0
	}
	ctx := context.Background()
	c, err := Open(impatient)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if address, ok := strings.CutPrefix(role, callPrefix); ok {
		ch, err := c.Dial(ctx, address)
		if err == nil {
			err = callWithoutEnd(ctx, ch, os.Stdout)
		}
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if role != "serve" {
		ch, err := c.Dial(ctx, role)
		for number := uint64(0); err == nil; number++ {
			err = ch.Send(ctx, binary.BigEndian.AppendUint64(nil, number))
		}
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	l, err := c.Listen(0)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(l.Addr())
	_ = l.Serve(ctx, func(_ context.Context, m *Msg) ([]byte, error) {
		if !intact(m.Bytes()) {
			return nil, errDamaged
		}
		_, err := os.Stdout.Write(m.Bytes()[:8])
		return m.Bytes(), err
	})
	return 0
}

// numbered is the payload of a call: its number, and of every sixteenth so much more that it is a large message.
func numbered(number uint64) []byte {
	b := binary.BigEndian.AppendUint64(nil, number)
	if number%16 == 0 {
		b = append(b, bytes.Repeat([]byte{byte(number >> 4)}, 20_000+int(number/16%7)*30_000)...)
	}
	return b
}

// intact says whether that has arrived.
func intact(b []byte) bool {
	return len(b) >= 8 && bytes.Equal(b, numbered(binary.BigEndian.Uint64(b)))
}

var errDamaged = errors.New("a payload is not what was sent")

// startChild runs the second process.
func startChild(t *testing.T, role string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+role)
	cmd.Stderr = io.Discard
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd, bufio.NewReader(out)
}

// childRoles are further things that a second process may do.
var childRoles = map[string]func() error{}

// callPrefix precedes the address that a child calls.
const callPrefix = "call "

// callers is how many goroutines of a child call at a time.
const callers = 16

// callWithoutEnd calls until a call fails, and writes the number of each that has succeeded.
func callWithoutEnd(ctx context.Context, ch *Channel, succeeded io.Writer) error {
	var next atomic.Uint64
	failed := make(chan error, callers)
	for range callers {
		go func() {
			for {
				request := numbered(next.Add(1))
				m, err := ch.Call(ctx, request)
				if err == nil {
					if !intact(m.Bytes()) {
						request = binary.BigEndian.AppendUint64(nil, math.MaxUint64) // a call that nobody has handled
					}
					m.Release()
					_, err = succeeded.Write(request[:8])
				}
				if err != nil {
					failed <- err
					return
				}
			}
		}()
	}
	return <-failed
}

// tally counts numbers.
type tally struct {
	mu   sync.Mutex
	seen map[uint64]int
	all  atomic.Int64
}

func newTally() *tally { return &tally{seen: map[uint64]int{}} }

func (a *tally) add(number []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen[binary.BigEndian.Uint64(number)]++
	a.all.Add(1)
}

// read counts what a child tells until it has ended.
func (a *tally) read(from io.Reader) {
	for b := make([]byte, 8); ; {
		if _, err := io.ReadFull(from, b); err != nil {
			return
		}
		a.add(b)
	}
}

// wantOnce expects that everything was handled once at most, and what has succeeded, once.
func wantOnce(t *testing.T, handled, succeeded *tally) {
	t.Helper()
	for number, times := range handled.seen {
		if times != 1 {
			t.Errorf("call %d was handled %d times", number, times)
		}
	}
	for number, times := range succeeded.seen {
		if times != 1 || handled.seen[number] != 1 {
			t.Errorf("call %d has succeeded %d times, and was handled %d times", number, times, handled.seen[number])
		}
	}
}

// server is a second process that handles calls, and a channel to it.
type server struct {
	cmd                *exec.Cmd
	context            *Context
	channel            *Channel
	handled, succeeded *tally
	reading            sync.WaitGroup
	next               atomic.Uint64
}

func startServer(t *testing.T) *server {
	t.Helper()
	s := &server{handled: newTally(), succeeded: newTally(), context: open(t, impatient)}
	cmd, out := startChild(t, "serve")
	address, err := out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	s.cmd = cmd
	s.reading.Go(func() { s.handled.read(out) })
	if s.channel, err = s.context.Dial(soon(t), strings.TrimSpace(address)); err != nil {
		t.Fatal(err)
	}
	return s
}

// calls are goroutines that call.
type calls struct {
	server *server
	over   atomic.Bool
	group  sync.WaitGroup
	mu     sync.Mutex
	failed error // the first
}

// callAll calls with n goroutines, until stop or a failure.
func (s *server) callAll(t *testing.T, n int) *calls {
	c := &calls{server: s}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	for range n {
		c.group.Go(func() {
			for !c.over.Load() {
				request := numbered(s.next.Add(1))
				m, err := s.channel.Call(ctx, request)
				if refused := (*CallError)(nil); errors.As(err, &refused) {
					t.Errorf("call %d: %v", binary.BigEndian.Uint64(request), err)
				}
				if err != nil {
					c.mu.Lock()
					c.failed = cmp.Or(c.failed, err)
					c.mu.Unlock()
					return
				}
				if !intact(m.Bytes()) {
					t.Errorf("the response to call %d is damaged", binary.BigEndian.Uint64(request))
				}
				s.succeeded.add(request)
				m.Release()
			}
		})
	}
	return c
}

func (c *calls) stop() {
	c.over.Store(true)
	c.group.Wait()
}

// progress returns a condition: that a hundred more calls have succeeded.
func (c *calls) progress() func() bool {
	before := c.server.succeeded.all.Load()
	return func() bool { return c.server.succeeded.all.Load() >= before+100 }
}

// check ends the process and looks at all that it has handled.
func (s *server) check(t *testing.T) {
	t.Helper()
	_ = s.cmd.Process.Kill()
	s.reading.Wait()
	<-s.channel.Done()
	wantOnce(t, s.handled, s.succeeded)
}

// Processes are killed at random points of an exchange, in turn the one that calls and the one that
// handles: each call was handled once and has succeeded, or was handled at most once and has failed.
// BRAID_MESSAGES=1000000 makes it as long as that.
func TestKilledAtAnyPoint(t *testing.T) {
	total := int64(4_000)
	if text := os.Getenv("BRAID_MESSAGES"); text != "" {
		var err error
		if total, err = strconv.ParseInt(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	done, rounds := int64(0), 0
	for ; done < total; rounds++ {
		point := 1 + rand.Int64N(total/3)
		if rounds%2 == 0 {
			done += killServer(t, point)
		} else {
			done += killClient(t, point)
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d calls were handled, %d processes killed", done, rounds)
}

// killServer kills the process that handles calls when it has told of some.
func killServer(t *testing.T, point int64) int64 {
	t.Helper()
	s := startServer(t)
	c := s.callAll(t, callers)
	for s.handled.all.Load() < point && s.channel.Err() == nil {
		time.Sleep(100 * time.Microsecond)
	}
	if err := s.channel.Err(); err != nil { // on a busy machine
		t.Logf("ended before its time: %v", err)
	}
	s.check(t)
	c.stop()
	if c.failed == nil {
		t.Error("no call has failed")
	}
	wantFree(t, s.context)
	s.context.Close()
	return s.handled.all.Load()
}

// killClient kills the process that calls when some calls have been handled.
func killClient(t *testing.T, point int64) int64 {
	t.Helper()
	c := open(t, impatient)
	l := listen(t, c)
	handled, succeeded := newTally(), newTally()
	cmd, out := startChild(t, callPrefix+l.Addr().String())
	var reading sync.WaitGroup
	reading.Go(func() { succeeded.read(out) })
	ch, err := l.Accept(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	reached := make(chan struct{})
	var serving sync.WaitGroup
	serving.Go(func() {
		_ = ch.Serve(context.Background(), func(_ context.Context, m *Msg) ([]byte, error) {
			if !intact(m.Bytes()) {
				t.Errorf("a request of %d bytes is damaged", m.Len())
			}
			handled.add(m.Bytes())
			if handled.all.Load() == point {
				close(reached)
			}
			return m.Bytes(), nil
		})
	})
	select {
	case <-reached:
	case <-ch.Done(): // on a busy machine
		t.Logf("ended before its time: %v", ch.Err())
	}
	_ = cmd.Process.Kill()
	reading.Wait()
	serving.Wait()
	wantFree(t, c)
	c.Close()
	wantOnce(t, handled, succeeded)
	return handled.all.Load()
}

// A client is killed: the server notices, and what the client had is free.
func TestClientIsKilled(t *testing.T) {
	c := open(t, impatient)
	l := listen(t, c)
	cmd, _ := startChild(t, l.Addr().String())
	ch, err := l.Accept(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	for want := range uint64(1000) {
		m, err := ch.Receive(soon(t))
		if err != nil {
			t.Fatal(err)
		}
		if number := binary.BigEndian.Uint64(m.Bytes()); number != want {
			t.Fatalf("message %d comes in the place of %d", number, want)
		}
		m.Release()
	}
	_ = cmd.Process.Kill()
	for { // what it had sent
		m, err := ch.Receive(soon(t))
		if err != nil {
			break
		}
		m.Release()
	}
	<-ch.gone
	if n := c.Stats().Channels; n != 0 {
		t.Errorf("%d channels", n)
	}
	if held := heldBlocks(c); held != 0 {
		t.Errorf("%d blocks of memory are not free", held)
	}
}

// heldBlocks counts what is not free of the memory of a context, but for the receives of channels that wait for peers.
func heldBlocks(c *Context) (n int) {
	m := c.memory
	c.exclusive(func() {
		for _, b := range *m.all.Load() {
			if slices.Contains(c.qps.waiting, b.owner) {
				n--
			}
		}
	})
	m.grow.Lock()
	defer m.grow.Unlock()
	for class := range m.classes {
		for _, r := range m.classes[class].regions {
			if r.mr != nil {
				n += len(r.blocks)
			}
		}
		for next := uint32(m.classes[class].free.Load()); next != 0; n-- {
			next = m.at(next - 1).next.Load()
		}
	}
	return n
}

// eventually waits for what no event tells.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// wantFree expects that nothing is left of any channel.
func wantFree(t testing.TB, c *Context) {
	t.Helper()
	eventually(t, "the channels are gone", func() bool { return c.Stats().Channels == 0 })
	if n := heldBlocks(c); n != 0 {
		t.Errorf("%d blocks of memory are in use", n)
	}
	if s := c.Stats(); s.PendingBytes != 0 || queuePairs(c) != s.CachedQPs {
		t.Errorf("%d queue pairs; %+v", queuePairs(c), s)
	}
}

// queuePairs is how many a context has beside the management queue pair.
func queuePairs(c *Context) int { return c.device.Query().QPs - 1 }
