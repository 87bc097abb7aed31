package braid

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// childVariable makes the test binary a second process, which is killed.
const childVariable = "BRAID_TEST_CHILD"

// impatient is a configuration that notices a dead peer soon.
var impatient = Config{Keepalive: 200 * time.Millisecond, Patience: 2 * time.Second, Linger: -1}

// beChild serves, or dials the address that it is given and sends without end. What
// it has handled it tells at once: eight bytes for each message.
func beChild(role string) int {
	ctx := context.Background()
	c, err := Open(impatient)
	if err != nil {
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
		_, err := os.Stdout.Write(m.Bytes())
		return m.Bytes(), err
	})
	return 0
}

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

// A server is killed in the middle of calls and messages: each was handled at most
// once, and those that were said to have succeeded or to have been received, once.
func TestServerIsKilled(t *testing.T) {
	for round := range 3 {
		cmd, out := startChild(t, "serve")
		address, err := out.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		c, err := Open(impatient)
		if err != nil {
			t.Fatal(err)
		}
		ch, err := c.Dial(soon(t), strings.TrimSpace(address))
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		succeeded := map[uint64]bool{}
		var callers sync.WaitGroup
		for g := range uint64(8) {
			callers.Go(func() {
				for number := g << 32; ; number++ {
					m, err := ch.Call(soon(t), binary.BigEndian.AppendUint64(nil, number))
					if err != nil {
						return
					}
					mu.Lock()
					succeeded[number] = true
					mu.Unlock()
					m.Release()
				}
			})
		}
		time.Sleep(time.Duration(rand.IntN(100)) * time.Millisecond)
		_ = cmd.Process.Kill()
		handled := map[uint64]int{}
		for b := make([]byte, 8); ; {
			if _, err := io.ReadFull(out, b); err != nil {
				break
			}
			handled[binary.BigEndian.Uint64(b)]++
		}
		callers.Wait()
		for number, times := range handled {
			if times != 1 {
				t.Errorf("round %d: call %#x was handled %d times", round, number, times)
			}
		}
		for number := range succeeded {
			if handled[number] != 1 {
				t.Errorf("round %d: call %#x succeeded, and was handled %d times", round, number, handled[number])
			}
		}
		t.Logf("round %d: %d calls succeeded, %d were handled; %v", round, len(succeeded), len(handled), ch.Err())
		<-ch.Done()
		c.Close()
	}
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

// heldBlocks counts what is not free of the memory of a context.
func heldBlocks(c *Context) (n int) {
	m := c.memory
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
