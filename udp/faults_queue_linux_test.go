package udp

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/braid-rdma/braid/verbs"
)

// TestFault27StoppedWorld moves data while the program collects garbage without
// end and keeps every processor busy.
func TestFault27StoppedWorld(t *testing.T) {
	for _, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
		t.Run(kind.String(), func(t *testing.T) {
			a, b := connect(t, Config{Paths: 2}, verbs.QPOptions{Type: kind}, streamMemory(16<<10, 8))
			quit, done := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(done)
				for {
					select {
					case <-quit:
						return
					default:
						runtime.GC()
					}
				}
			}()
			s := newStream(a, b, 16<<10, 8)
			s.runFor(150 * time.Millisecond)
			s.run(20)
			close(quit)
			<-done
			if retired := a.qp.Stats().PathsRetired; retired > 2 {
				t.Errorf("%d paths were retired, though none failed", retired)
			}
		})
	}
}

// TestFault28SlowReceiver posts a receive only now and then.
func TestFault28SlowReceiver(t *testing.T) {
	for _, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
		t.Run(kind.String(), func(t *testing.T) {
			a, b := connect(t, Config{Paths: 2}, verbs.QPOptions{Type: kind}, 1<<16)
			const messages = 10
			for i := range messages {
				noError(t, a.qp.PostSend(&verbs.SendWR{ID: uint64(i), Op: verbs.OpSendImm, Imm: uint32(i), Flags: verbs.Signaled, SGEs: []verbs.SGE{a.mr.SGE(0, 5000)}}))
			}
			for i := range messages {
				time.Sleep(15 * time.Millisecond)
				noError(t, b.qp.PostRecv(&verbs.RecvWR{SGEs: []verbs.SGE{b.mr.SGE(0, 8192)}}))
				if c := b.wait(); c.Imm != uint32(i) {
					t.Fatalf("message %d, want %d", c.Imm, i)
				}
			}
			for i := range messages {
				if c := a.wait(); c.WRID != uint64(i) {
					t.Fatalf("completion %d, want %d", c.WRID, i)
				}
			}
		})
	}
}

// TestFault29ReceiverNotReady never posts a receive. The retries are exact.
func TestFault29ReceiverNotReady(t *testing.T) {
	for _, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
		for _, retries := range []int{verbs.None, 1, 3} {
			t.Run(fmt.Sprintf("%v/%d", kind, max(retries, 0)), func(t *testing.T) {
				o := verbs.QPOptions{Type: kind, Conn: verbs.ConnOptions{RNRRetry: retries, MinRNRTimer: 320 * time.Microsecond, AckTimeout: patience}} // no timeout repeats it
				a, b := connect(t, Config{Paths: 2}, o, 4096)
				start := time.Now()
				noError(t, a.qp.PostSend(&verbs.SendWR{Op: verbs.OpSend, Flags: verbs.Signaled, SGEs: []verbs.SGE{a.mr.SGE(0, 64)}}))
				c, err := a.outcome(patience)
				noError(t, err)
				if err := c.Err(); !errors.Is(err, verbs.ErrRNRRetryExceeded) {
					t.Errorf("completion: %v", err)
				}
				// A multi-path sender may have sent the packet twice, in doubt, by the time
				// that it receives the first refusal.
				sent, want := b.qp.Stats().RNRNaksSent, uint64(max(retries, 0)+1)
				if sent < want || kind == verbs.RC && sent > want {
					t.Errorf("%d RNR NAKs, want %d", sent, want)
				}
				if n := a.qp.Stats().RNRNakRetryErr; n != 1 {
					t.Errorf("retries ran out %d times", n)
				}
				if d, least := time.Since(start), time.Duration(max(retries, 0))*320*time.Microsecond; d < least {
					t.Errorf("it gave up after %v, before %v", d, least)
				}
			})
		}
	}
}

// TestFault31CompletionQueueOverflows never polls. The queue breaks with an
// event, and so does what uses it; another connection does not notice.
func TestFault31CompletionQueueOverflows(t *testing.T) {
	a, b := connect(t, Config{Paths: 2}, verbs.QPOptions{Type: verbs.MP}, streamMemory(4096, 8))
	small, err := a.dev.CreateCQ(4)
	noError(t, err)
	x := &end{t: t, dev: a.dev, pd: a.pd, cq: small, mr: a.mr}
	x.qp, err = a.pd.CreateQP(verbs.QPOptions{Type: verbs.MP, SendCQ: small})
	noError(t, err)
	y := secondEnd(t, b, verbs.QPOptions{Type: verbs.MP}, 4096)
	join(t, x, y)
	for range 6 {
		noError(t, x.qp.PostSend(&verbs.SendWR{Op: verbs.OpWrite, Flags: verbs.Signaled, Inline: []byte("12345678"), RemoteAddr: y.mr.Addr(), RKey: y.mr.RKey()}))
	}
	select {
	case event := <-a.dev.Events():
		if event.Kind != verbs.EventCQErr || event.CQ != small {
			t.Errorf("event %v", event)
		}
	case <-time.After(patience):
		t.Fatal("no event")
	}
	eventually(t, "the queue pair fails", func() bool { return x.qp.State() == verbs.Err })
	for range 4 {
		x.wait()
	}
	if _, err := x.outcome(time.Second); !errors.Is(err, verbs.ErrCQOverflow) {
		t.Errorf("after the last completion: %v", err)
	}
	newStream(a, b, 4096, 8).run(20)
}

// TestFault32PostsRefused posts in wrong states, too much and to full queues;
// nothing of it may have an effect.
func TestFault32PostsRefused(t *testing.T) {
	for _, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
		t.Run(kind.String(), func(t *testing.T) {
			o := verbs.QPOptions{Type: kind, SendDepth: 4, RecvDepth: 2, MaxSendSGE: 2}
			a := openEnd(t, Config{Paths: 2}, o, 1<<16)
			b := openEnd(t, Config{Paths: 2}, o, 1<<16)
			send := verbs.SendWR{Op: verbs.OpSend, Flags: verbs.Signaled, SGEs: []verbs.SGE{a.mr.SGE(0, 64)}}
			wantErr(t, "a send in RESET", a.qp.PostSend(&send), verbs.ErrState)
			wantErr(t, "a receive in RESET", a.qp.PostRecv(&verbs.RecvWR{}), verbs.ErrState)
			noError(t, a.qp.Prepare())
			wantErr(t, "a send in INIT", a.qp.PostSend(&send), verbs.ErrState)
			join(t, a, b)
			piece := a.mr.SGE(0, 8)
			wantErr(t, "three elements", a.qp.PostSend(&verbs.SendWR{Op: verbs.OpSend, SGEs: []verbs.SGE{piece, piece, piece}}), verbs.ErrTooManySGE)
			wantErr(t, "beyond the region", a.qp.PostSend(&verbs.SendWR{Op: verbs.OpSend, SGEs: []verbs.SGE{a.mr.SGE(1<<16, 1)}}), verbs.ErrRange)
			wantErr(t, "foreign memory", a.qp.PostSend(&verbs.SendWR{Op: verbs.OpSend, SGEs: []verbs.SGE{b.mr.SGE(0, 1)}}), verbs.ErrForeign)
			noError(t, a.qp.PostRecv(&verbs.RecvWR{}))
			noError(t, a.qp.PostRecv(&verbs.RecvWR{}))
			wantErr(t, "a third receive", a.qp.PostRecv(&verbs.RecvWR{}), verbs.ErrQueueFull)
			for i := range 4 { // b has no receive, so nothing completes
				send.ID = uint64(i)
				noError(t, a.qp.PostSend(&send))
			}
			wantErr(t, "a fifth send", a.qp.PostSend(&send), verbs.ErrQueueFull)
			for i := range 4 {
				noError(t, b.qp.PostRecv(&verbs.RecvWR{SGEs: []verbs.SGE{b.mr.SGE(0, 64)}}))
				b.wait()
				if c := a.wait(); c.WRID != uint64(i) {
					t.Errorf("completion %d, want %d", c.WRID, i)
				}
			}
			if c, err := a.outcome(10 * time.Millisecond); err == nil {
				t.Errorf("a refused request completed: %+v", c)
			}
		})
	}
}

func wantErr(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}
