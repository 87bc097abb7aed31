package rxe

import (
	"testing"
	"time"

	"github.com/braid-rdma/braid/verbs"
)

// shortTimeout makes an end give up a silent peer within some seconds:
// 4.096 µs · 2^16 is 268 ms, and is waited for eight times.
const shortTimeout = 16

// receiverDelay is how long a message waits for a receive: many times what a
// receiver asks for when it has none (code 12: 0.64 ms).
const receiverDelay = 100 * time.Millisecond

func TestKernelHasNoReceiveYet(t *testing.T) {
	c := newCouple(t, coupleOptions{})
	c.fill(3000, 1)
	c.post(verbs.SendWR{Op: verbs.OpSend}, 3000)
	time.Sleep(receiverDelay)
	c.kqp.recv(c.kmr, 0, 3000, 7)
	c.want(nil)
	c.wantKernelReceive(ibvRecv, 3000, false)
	if c.kmr.sum(0, 3000) != patternSum(3000, 1) {
		t.Error("other bytes arrived")
	}
	if s := c.qp.Stats(); s.RNRNaksReceived == 0 {
		t.Error("braid was never told that there is no receive")
	}
}

func TestBraidHasNoReceiveYet(t *testing.T) {
	c := newCouple(t, coupleOptions{})
	c.kmr.fill(0, 3000, 2)
	c.kpost(kernelWR{op: ibvSend}, 3000)
	time.Sleep(receiverDelay)
	c.recv(3000)
	c.kernel.want(ibvSuccess)
	c.wantReceive(verbs.OpRecv, 3000, false)
	if c.sum(3000) != patternSum(3000, 2) {
		t.Error("other bytes arrived")
	}
	if s := c.qp.Stats(); s.RNRNaksSent == 0 {
		t.Error("braid never said that it has no receive")
	}
}

func TestKernelNeverHasAReceive(t *testing.T) {
	c := newCouple(t, coupleOptions{rnrRetries: 3})
	c.post(verbs.SendWR{Op: verbs.OpSend}, 100)
	c.want(verbs.ErrRNRRetryExceeded)
	wantBraidError(t, c)
	if s := c.qp.Stats(); s.RNRNaksReceived != 4 {
		t.Errorf("braid was refused %d times; it was to try 3 times more", s.RNRNaksReceived)
	}
}

func TestBraidNeverHasAReceive(t *testing.T) {
	c := newCouple(t, coupleOptions{rnrRetries: 3})
	c.kpost(kernelWR{op: ibvSend}, 100)
	c.kernel.want(ibvRNRRetryErr)
	wantKernelError(t, c)
	if s := c.qp.Stats(); s.RNRNaksSent != 4 {
		t.Errorf("braid refused %d times; the kernel was to try 3 times more", s.RNRNaksSent)
	}
}

// An access that may not be: which right the memory lacks, or where it leads.
type access struct {
	name     string
	braidOp  verbs.Op
	kernelOp int
	rights   verbs.Access // of the memory that is accessed
	key      verbs.RKey   // added to the right key
	beyond   bool         // ends one byte outside of the memory
}

const allButWrite = verbs.LocalWrite | verbs.RemoteRead

var accesses = []access{
	{"a WRITE with a wrong key", verbs.OpWrite, ibvWrite, allRights, 0x100, false},
	{"a READ with a wrong key", verbs.OpRead, ibvRead, allRights, 0x100, false},
	{"a WRITE beyond the end", verbs.OpWrite, ibvWrite, allRights, 0, true},
	{"a READ beyond the end", verbs.OpRead, ibvRead, allRights, 0, true},
	{"a WRITE without the right", verbs.OpWrite, ibvWrite, allButWrite, 0, false},
	{"a READ without the right", verbs.OpRead, ibvRead, verbs.LocalWrite | verbs.RemoteWrite, 0, false},
	{"an atomic without the right", verbs.OpFetchAdd, ibvFetchAdd, allButWrite, 0, false},
}

const (
	allRights  = verbs.LocalWrite | verbs.RemoteWrite | verbs.RemoteRead | verbs.RemoteAtomic
	victimSize = 4096
)

// length is that of the access, and place where it begins.
func (a access) length() int {
	if a.braidOp == verbs.OpFetchAdd {
		return 8
	}
	return 2000
}

func (a access) place() uint64 {
	if a.beyond {
		return uint64(victimSize - a.length() + 1)
	}
	return 0
}

func TestKernelRefusesBraid(t *testing.T) {
	for _, a := range accesses {
		t.Run(a.name, func(t *testing.T) {
			c := newCouple(t, coupleOptions{})
			victim := c.kernel.register(victimSize, kernelRights(a.rights))
			victim.fill(0, victimSize, 9)
			c.post(verbs.SendWR{Op: a.braidOp, RemoteAddr: victim.addr + a.place(), RKey: victim.rkey + a.key, SwapAdd: 1}, a.length())
			c.want(verbs.ErrRemoteAccess)
			wantBraidError(t, c)
			if victim.sum(0, victimSize) != patternSum(victimSize, 9) {
				t.Error("the memory has changed")
			}
		})
	}
}

func TestBraidRefusesTheKernel(t *testing.T) {
	for _, a := range accesses {
		t.Run(a.name, func(t *testing.T) {
			c := newCouple(t, coupleOptions{})
			victim, err := c.pd.AllocMemory(victimSize, a.rights)
			if err != nil {
				t.Fatal(err)
			}
			pattern(victim.Bytes(), 9)
			c.kpost(kernelWR{op: a.kernelOp, raddr: victim.Addr() + a.place(), rkey: victim.RKey() + a.key, value: 1}, a.length())
			c.kernel.want(ibvRemAccessErr)
			wantKernelError(t, c)
			wantBraidError(t, c)
			after := make([]byte, victimSize)
			if err := victim.Load(0, after); err != nil {
				t.Fatal(err)
			}
			if sumOf(after) != patternSum(victimSize, 9) {
				t.Error("the memory has changed")
			}
		})
	}
}

// kernelRights are rights by libibverbs' numbers.
func kernelRights(a verbs.Access) int {
	rights := 0
	for right, number := range map[verbs.Access]int{
		verbs.LocalWrite: ibvLocalWrite, verbs.RemoteWrite: ibvRemoteWrite,
		verbs.RemoteRead: ibvRemoteRead, verbs.RemoteAtomic: ibvRemoteAtomic,
	} {
		if a&right != 0 {
			rights |= number
		}
	}
	return rights
}

// A receive that is too short for the message: the receiver learns of its own
// mistake, and the sender of an invalid request. The kernel's driver says that the
// fault is its own instead (remote operational error).
func TestMessageIsTooLong(t *testing.T) {
	t.Run("for the kernel", func(t *testing.T) {
		c := newCouple(t, coupleOptions{})
		c.kqp.recv(c.kmr, 0, 100, 7)
		c.post(verbs.SendWR{Op: verbs.OpSend}, 101)
		c.want(verbs.ErrRemoteOperation)
		wantBraidError(t, c)
	})
	t.Run("for braid", func(t *testing.T) {
		c := newCouple(t, coupleOptions{})
		c.recv(100)
		c.kpost(kernelWR{op: ibvSend}, 101)
		c.kernel.want(ibvRemInvReqErr)
		wantKernelError(t, c)
		c.want(verbs.ErrLocalLength)
	})
}

func wantBraidError(t *testing.T, c *couple) {
	t.Helper()
	for deadline := time.Now().Add(playTime); c.qp.State() != verbs.Err; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("braid's queue pair is in state %v", c.qp.State())
			return
		}
	}
}

func wantKernelError(t *testing.T, c *couple) {
	t.Helper()
	if state := c.kqp.state(); state != ibvStateErr {
		t.Errorf("the kernel's queue pair is in state %d", state)
	}
}
