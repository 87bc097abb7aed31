package bundle

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/braid-rdma/braid/udp"
	"github.com/braid-rdma/braid/verbs"
)

// childEnv makes this test program the other side of TestKill: "listen", or the address
// to dial.
const childEnv = "BRAID_BUNDLE_CHILD"

// child is the side that is killed: it says where it is and what memory it has, and then
// exchanges for ever.
func child(t *testing.T, role string) {
	a, err := udp.Open(udp.Config{Loopback: true, Paths: 4})
	must(t, err)
	s := newSide(t, a)
	cfg := s.config(3)
	if role == "listen" {
		l, err := Listen(s.manager, 0, cfg)
		must(t, err)
		fmt.Println("at", l.Addr(), s.mr.Addr(), uint32(s.mr.RKey()))
		s.conn, err = l.Accept(testContext(t))
		must(t, err)
	} else {
		s.conn, err = Dial(testContext(t), s.manager, role, cfg)
		must(t, err)
		fmt.Println("at", a.Query().Local, s.mr.Addr(), uint32(s.mr.RKey()))
	}
	for i := 0; s.conn.Err() == nil; i++ {
		_ = s.conn.Post(Request{Op: OpReceive, Local: s.buffer(i%2<<20, 1<<20)})
		_ = s.conn.Send(testContext(t), s.buffer(2<<20, 100000))
		var out [16]Completion
		_, _ = s.conn.Poll(out[:])
	}
}

// startChild starts the other side and returns what it says of itself.
func startChild(t *testing.T, role string) (cmd *exec.Cmd, address string, memory Remote) {
	t.Helper()
	cmd = exec.Command(os.Args[0], "-test.run", "^TestKill$", "-test.v")
	cmd.Env = append(os.Environ(), childEnv+"="+role)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "at ") {
			var key uint32
			_, err := fmt.Sscanf(lines.Text(), "at %s %d %d", &address, &memory.Addr, &key)
			must(t, err)
			memory.RKey = verbs.RKey(key)
			return cmd, address, memory
		}
		t.Log(lines.Text())
	}
	t.Fatal("the child has ended", lines.Err())
	return nil, "", Remote{}
}

// TestKill: either side is killed in the middle of an exchange. All that is outstanding at
// the other completes within the bound, the connection says why, and nothing is left.
func TestKill(t *testing.T) {
	if role := os.Getenv(childEnv); role != "" {
		child(t, role)
		return
	}
	for round := range 2 {
		t.Run(fmt.Sprint("listener ", round), func(t *testing.T) { kill(t, round, true) })
		t.Run(fmt.Sprint("dialer ", round), func(t *testing.T) { kill(t, round, false) })
	}
}

func kill(t *testing.T, round int, listener bool) {
	dev, err := udp.Open(udp.Config{Loopback: true, Paths: 4})
	must(t, err)
	s := newSide(t, dev)
	before := goleak.IgnoreCurrent()
	cfg := s.config(3)
	quickEnd(&cfg)
	var cmd *exec.Cmd
	var memory Remote
	if listener {
		var address string
		cmd, address, memory = startChild(t, "listen")
		s.conn, err = Dial(testContext(t), s.manager, address, cfg)
		must(t, err)
	} else {
		l, err := Listen(s.manager, 0, cfg)
		must(t, err)
		cmd, _, memory = startChild(t, l.Addr().String())
		s.conn, err = l.Accept(testContext(t))
		must(t, err)
		must(t, l.Close())
	}
	posted := s.exchange(memory, 10+round*37)
	must(t, cmd.Process.Kill())
	_ = cmd.Wait() // it says that it was killed
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for posted > 0 {
		var out [16]Completion
		n, err := s.conn.Wait(ctx, out[:])
		must(t, err)
		posted -= n
	}
	select {
	case <-s.conn.Done():
	case <-ctx.Done():
		t.Fatal("the connection lives on")
	}
	must(t, s.conn.Close())
	goleak.VerifyNone(t, before)
	s.leavesNothing()
}

// exchange keeps 16 requests of all kinds outstanding until some are complete, and returns
// how many are outstanding.
func (s *side) exchange(memory Remote, until int) (outstanding int) {
	s.t.Helper()
	for done, next := 0, 0; done < until; {
		for ; outstanding < 16; outstanding, next = outstanding+1, next+1 {
			must(s.t, s.conn.Post(Request{Op: Op(next % 4), Local: s.buffer(next%2<<20, 200000), Remote: memory}))
		}
		var out [16]Completion
		n, err := s.conn.Wait(testContext(s.t), out[:])
		must(s.t, err)
		for _, c := range out[:n] {
			must(s.t, c.Err)
		}
		done, outstanding = done+n, outstanding-n
	}
	return outstanding
}
