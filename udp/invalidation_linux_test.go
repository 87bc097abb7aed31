package udp

import (
	"sync"
	"testing"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// A key that a peer has invalidated by a queue pair of one loop is refused in all.
func TestLoopsInvalidate(t *testing.T) {
	o := verbs.QPOptions{Type: verbs.RC}
	as := openLooped(t, Config{Paths: 1, Loops: 2}, o, 2, 64)
	bs := openLooped(t, Config{Paths: 1, Loops: 2}, o, 2, 64)
	target, err := bs[0].pd.AllocMemory(64, allRights|verbs.RemoteInvalidate)
	noError(t, err)
	write := verbs.SendWR{Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: []verbs.SGE{as[1].mr.SGE(0, 8)}, RemoteAddr: target.Addr(), RKey: target.RKey()}
	for i := range as {
		noError(t, bs[i].qp.Prepare())
		noError(t, bs[i].qp.PostRecv(&verbs.RecvWR{}))
		join(t, as[i], bs[i])
	}
	noError(t, as[1].qp.PostSend(&write)) // the loop remembers the key
	as[1].wait()
	noError(t, as[0].qp.PostSend(&verbs.SendWR{Op: verbs.OpSendInv, Flags: verbs.Signaled, RKey: target.RKey()}))
	as[0].wait()
	noError(t, as[1].qp.PostSend(&write))
	var out [1]verbs.Completion
	_, err = as[1].cq.Wait(t.Context(), out[:])
	noError(t, err)
	if out[0].Status != transport.RemAccessErr {
		t.Errorf("with a key that was invalidated: %v", out[0].Status)
	}
	if _, err := target.Rekey(); err != nil {
		t.Error(err)
	}
}

// The completion that reports the end of a key, and those behind it, wait for a loop that may be using the key.
func TestLoopsInvalidateBesideAnother(t *testing.T) {
	for _, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
		t.Run(kind.String(), func(t *testing.T) {
			o := verbs.QPOptions{Type: kind}
			as := openLooped(t, Config{Paths: 1, Loops: 2}, o, 3, 64)
			bs := openLooped(t, Config{Paths: 1, Loops: 2}, o, 3, 64)
			target, err := bs[0].pd.AllocMemory(64, allRights|verbs.RemoteInvalidate)
			noError(t, err)
			for i := range as {
				noError(t, bs[i].qp.Prepare())
				for id := range uint64(3) {
					noError(t, bs[i].qp.PostRecv(&verbs.RecvWR{ID: id}))
				}
				join(t, as[i], bs[i])
			}
			other := enginesOf(bs[0].dev)[1] // the queue pairs 0 and 2 are the first loop's
			other.Lock()
			held := true
			defer func() {
				if held {
					other.Unlock()
				}
			}()
			noError(t, as[0].qp.PostSend(&verbs.SendWR{Op: verbs.OpSend}))
			noError(t, as[0].qp.PostSend(&verbs.SendWR{Op: verbs.OpSendInv, RKey: target.RKey()}))
			noError(t, as[0].qp.PostSend(&verbs.SendWR{Op: verbs.OpSend, Flags: verbs.Signaled}))
			as[0].wait() // so all three have arrived
			noError(t, as[2].qp.PostSend(&verbs.SendWR{Op: verbs.OpSend}))
			var out [4]verbs.Completion
			n, err := bs[2].cq.Wait(t.Context(), out[:]) // so the loop has delivered what it may
			noError(t, err)
			if n != 1 {
				t.Errorf("another queue pair of the loop has %d completions", n)
			}
			n, err = bs[0].cq.Poll(out[:])
			noError(t, err)
			if n != 1 || out[0].WRID != 0 || out[0].HasInv {
				t.Fatalf("while the other loop works %d completions are seen, %+v first", n, out[0])
			}
			held = false
			other.Unlock()
			for id := uint64(1); id < 3; id++ {
				_, err = bs[0].cq.Wait(t.Context(), out[:1])
				noError(t, err)
				if out[0].WRID != id || out[0].HasInv != (id == 1) {
					t.Errorf("completion %d: %+v", id, out[0])
				}
			}
		})
	}
}

// Who closes a queue pair, with the locks of all loops, gets what is held.
func TestLoopsCloseWhileHeld(t *testing.T) {
	as := openLooped(t, Config{Paths: 1, Loops: 2}, verbs.QPOptions{Type: verbs.MP}, 2, 64)
	bs := openLooped(t, Config{Paths: 1, Loops: 2}, verbs.QPOptions{Type: verbs.MP}, 2, 64)
	target, err := bs[0].pd.AllocMemory(64, allRights|verbs.RemoteInvalidate)
	noError(t, err)
	for i := range as {
		noError(t, bs[i].qp.Prepare())
		noError(t, bs[i].qp.PostRecv(&verbs.RecvWR{}))
		noError(t, bs[i].qp.PostRecv(&verbs.RecvWR{}))
		join(t, as[i], bs[i])
	}
	other := enginesOf(bs[0].dev)[1]
	other.Lock()
	noError(t, as[0].qp.PostSend(&verbs.SendWR{Op: verbs.OpSendInv, Flags: verbs.Signaled, RKey: target.RKey()}))
	as[0].wait()
	var closing sync.WaitGroup
	closing.Go(func() { noError(t, bs[0].qp.Close()) })
	other.Unlock()
	closing.Wait()
	var out [3]verbs.Completion
	n, err := bs[0].cq.Poll(out[:])
	noError(t, err)
	if n != 2 || out[0].Status != transport.Success || !out[0].HasInv || out[1].Status != transport.WRFlushErr {
		t.Errorf("%d completions: %+v", n, out[:n])
	}
}
