package oob

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/braid-rdma/braid/internal/loopnet"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// victimAddr names, in the environment of a child process, where its peer
// listens.
const victimAddr = "BRAID_OOB_TEST_VICTIM"

// runVictim is the life of the child process: connect, then wait to be killed.
func runVictim() bool {
	addr := os.Getenv(victimAddr)
	if addr == "" {
		return false
	}
	if err := victim(addr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	time.Sleep(time.Minute)
	return true
}

func victim(addr string) error {
	ctx := context.Background()
	dev := loopnet.New(loopnet.Options{}).Open()
	pd, err := dev.CreatePD()
	if err != nil {
		return err
	}
	cq, err := dev.CreateCQ(1)
	if err != nil {
		return err
	}
	qp, err := pd.CreateQP(verbs.QPOptions{Type: verbs.MP, SendCQ: cq})
	if err != nil {
		return err
	}
	c, err := Dial(ctx, addr)
	if err != nil {
		return err
	}
	_, err = Connect(ctx, c, qp, Options{})
	return err
}

// A peer process that is killed takes its connection with it: every request
// here completes with an error, soon, and nothing is left.
func TestPeerKilled(t *testing.T) {
	b := newEnd(t, loopnet.New(loopnet.Options{}), verbs.MP)
	l, err := Listen("127.0.0.1:0")
	must(t, err)
	defer l.Close()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), victimAddr+"="+l.Addr().String())
	child.Stderr = os.Stderr
	must(t, child.Start())
	defer child.Wait()
	defer child.Process.Kill()
	c, err := l.Accept(testContext(t))
	must(t, err)
	s, err := Connect(testContext(t), c, b.qp, Options{})
	must(t, err)
	defer s.Close()

	const requests = 10
	for id := range uint64(requests) {
		// The child's device is on a network of its own, so these stay outstanding.
		must(t, b.qp.PostSend(&verbs.SendWR{ID: id, Op: verbs.OpSend, Inline: []byte("x")}))
	}
	must(t, child.Process.Kill())
	killed := time.Now()
	var out [requests + 1]verbs.Completion
	for seen := 0; seen < requests; {
		n, err := b.cq.Wait(testContext(t), out[seen:])
		must(t, err)
		seen += n
	}
	if late := time.Since(killed); late > 5*time.Second {
		t.Errorf("the completions came %v after the kill", late)
	}
	for id, c := range out[:requests] {
		if c.WRID != uint64(id) || c.Status != transport.WRFlushErr {
			t.Fatalf("completion %+v, want flush of %d", c, id)
		}
	}
	<-s.Done()
	if !errors.Is(s.Err(), ErrPeerLost) {
		t.Errorf("session ended with %v", s.Err())
	}
}
