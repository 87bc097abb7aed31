package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/braid-rdma/braid/verbs"
)

// TestDeregisteredReceive: nothing is written to memory that the program has back, in
// whatever way the message comes; the receive says so, and the next one passes.
func TestDeregisteredReceive(t *testing.T) {
	for name, change := range map[string]func(*Config){"one-sided": nil, "two-sided": twoSided} {
		for _, length := range []int{100, 100000} {
			t.Run(fmt.Sprint(name, " ", length), func(t *testing.T) {
				a, b, _ := loopPair(t)
				pair(t, a, b, 2, change)
				memory := make([]byte, length)
				mr, err := b.pd.RegisterMemory(memory, verbs.LocalWrite|verbs.RemoteWrite)
				must(t, err)
				must(t, b.conn.Post(Request{Op: OpReceive, Local: Buffer{mr, 0, length}}))
				must(t, mr.Deregister())
				a.fill(0, length, 1)
				_ = a.conn.Send(testContext(t), a.buffer(0, length)) // the peer may know of it or not
				var out [1]Completion
				_, err = b.conn.Wait(testContext(t), out[:])
				must(t, err)
				if err := out[0].Err; !errors.Is(err, verbs.ErrLocalAccess) && !errors.Is(err, ErrPeerFailed) || out[0].Bytes != 0 {
					t.Errorf("completion %+v, want an error of the memory", out[0])
				}
				if !bytes.Equal(memory, make([]byte, length)) {
					t.Error("the memory was written")
				}
				must(t, b.conn.Post(Request{Op: OpReceive, Local: b.buffer(0, length)}))
				must(t, a.conn.Send(testContext(t), a.buffer(0, length)))
			})
		}
	}
}

// TestDeregisteredSend: no byte of memory that the program has back reaches the peer.
func TestDeregisteredSend(t *testing.T) {
	for _, length := range []int{100, 100000} {
		t.Run(fmt.Sprint(length), func(t *testing.T) {
			a, b, _ := loopPair(t)
			pair(t, a, b, 2, nil)
			mr, err := a.pd.AllocMemory(length, verbs.LocalWrite)
			must(t, err)
			must(t, a.conn.Post(Request{Op: OpSend, Local: Buffer{mr, 0, length}}))
			must(t, mr.Deregister())
			n, err := b.conn.Receive(testContext(t), b.buffer(0, length))
			if n != 0 || !errors.Is(err, ErrPeerFailed) {
				t.Errorf("the receive has %d bytes, %v, want ErrPeerFailed", n, err)
			}
			var out [1]Completion
			_, err = a.conn.Wait(testContext(t), out[:])
			must(t, err)
			if out[0].Bytes != 0 || !errors.Is(out[0].Err, verbs.ErrLocalAccess) {
				t.Errorf("completion %+v, want ErrLocalAccess", out[0])
			}
		})
	}
}

// TestDeregisteredWrite: a Write whose memory goes away while it is under way fails, once the
// peer has closed its end of the queue pair that was in the middle of it; and the next passes.
func TestDeregisteredWrite(t *testing.T) {
	a, b, n := loopPair(t)
	pair(t, a, b, 2, nil)
	mr, err := a.pd.AllocMemory(1<<20, verbs.LocalWrite)
	must(t, err)
	n.SetFilter(nothingPasses)
	must(t, a.conn.Post(Request{Op: OpWrite, Local: Buffer{mr, 0, 1 << 20}, Remote: b.at(0)}))
	must(t, mr.Deregister())
	n.SetFilter(nil)
	var out [1]Completion
	_, err = a.conn.Wait(testContext(t), out[:])
	must(t, err)
	if err := out[0].Err; !errors.Is(err, verbs.ErrLocalProtection) && !errors.Is(err, verbs.ErrLocalAccess) {
		t.Errorf("got %v, want an error of the memory", err)
	}
	data := a.fill(0, 1<<20, 2)
	must(t, a.conn.Write(testContext(t), a.buffer(0, 1<<20), b.at(0)))
	b.want(0, data)
}
