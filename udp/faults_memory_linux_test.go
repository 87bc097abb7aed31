package udp

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/braid-rdma/braid/verbs"
	"golang.org/x/sys/unix"
)

// TestFault33DeregisteredInFlight deregisters memory while the peer writes it.
// When Deregister has returned, the bytes are the program's alone.
func TestFault33DeregisteredInFlight(t *testing.T) {
	rounds := 40
	if testing.Short() {
		rounds = 10
	}
	for _, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
		t.Run(kind.String(), func(t *testing.T) {
			const size = 1 << 20
			a, b := connect(t, Config{Paths: 2}, verbs.QPOptions{Type: kind}, size)
			fill(a.mr.Bytes(), 1)
			failed := 0
			for round := range rounds {
				o := verbs.QPOptions{Type: kind, Conn: verbs.ConnOptions{AckTimeout: 2 * time.Second}} // a busy machine takes its time
				x, y := secondEnd(t, a, o, 8), secondEnd(t, b, o, size)
				join(t, x, y)
				for range 8 {
					noError(t, x.qp.PostSend(&verbs.SendWR{
						Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: []verbs.SGE{a.mr.SGE(0, size)},
						RemoteAddr: y.mr.Addr(), RKey: y.mr.RKey(),
					}))
				}
				time.Sleep(time.Duration(round) * 20 * time.Microsecond)
				noError(t, y.mr.Deregister())
				clear(y.mr.Bytes()) // a race, and a failure, if the engine still wrote
				for range 8 {
					c, err := x.outcome(patience)
					noError(t, err)
					if err := c.Err(); err != nil {
						failed++
						if !errors.Is(err, verbs.ErrRemoteAccess) && !errors.Is(err, verbs.ErrFlushed) {
							t.Fatal(err)
						}
					}
				}
				for i, v := range y.mr.Bytes() {
					if v != 0 {
						t.Fatalf("byte %d was written after Deregister", i)
					}
				}
				noError(t, x.qp.Close())
				noError(t, y.qp.Close())
			}
			if failed == 0 {
				t.Error("no memory was deregistered while requests were under way")
			}
		})
	}
}

// TestFault33DeregisteredInQueue deregisters the source of packets that wait
// for the kernel. They go out as they were posted, or not at all.
func TestFault33DeregisteredInQueue(t *testing.T) {
	for _, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
		t.Run(kind.String(), func(t *testing.T) {
			a, b := connect(t, Config{Paths: 2}, verbs.QPOptions{Type: kind}, 1<<16)
			e := engineOf(a.dev)
			hookSends(e, func(int, []mmsghdr) (int, unix.Errno) { return 0, unix.ENOBUFS })
			noError(t, a.qp.PostSend(&verbs.SendWR{
				Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: []verbs.SGE{a.mr.SGE(0, 1<<16)}, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey(),
			}))
			noError(t, a.mr.Deregister())
			secret := []byte("written after the region was deregistered")
			for at := 0; at < 1<<16; at += 1024 {
				copy(a.mr.Bytes()[at:], secret)
			}
			tap := tapSends(e, 1000)
			eventually(t, "what waited is sent", func() bool { return len(tap.taken()) > 0 })
			if c, err := a.outcome(10 * time.Second); err != nil || !errors.Is(c.Err(), verbs.ErrLocalProtection) && c.Err() != nil {
				t.Errorf("completion: %+v, %v", c, err)
			}
			for _, p := range tap.taken() {
				if bytes.Contains(p.data, secret) {
					t.Fatal("the memory was read after Deregister")
				}
			}
			if n := statsOf(t, b.dev).BadICRC; n != 0 {
				t.Errorf("%d packets had changed since their ICRC was computed", n)
			}
		})
	}
}

// TestFault34RemoteAccess asks over the wire for what the key does not grant.
func TestFault34RemoteAccess(t *testing.T) {
	const size = 8192
	type request struct {
		name   string
		op     verbs.Op
		length int
		addr   func(b *end, m *verbs.MR) uint64
		access verbs.Access
		alien  bool // the region belongs to another protection domain
		stale  bool // the key is not one
	}
	start := func(_ *end, m *verbs.MR) uint64 { return m.Addr() }
	all := []request{
		{"write one byte beyond", verbs.OpWrite, size + 1, start, allRights, false, false},
		{"write beyond the end", verbs.OpWrite, 8, func(_ *end, m *verbs.MR) uint64 { return m.Addr() + size - 7 }, allRights, false, false},
		{"write before the start", verbs.OpWrite, 8, func(_ *end, m *verbs.MR) uint64 { return m.Addr() - 1 }, allRights, false, false},
		{"write around 2^64", verbs.OpWrite, size, func(*end, *verbs.MR) uint64 { return math.MaxUint64 - 100 }, allRights, false, false},
		{"write without the right", verbs.OpWrite, 8, start, verbs.LocalWrite | verbs.RemoteRead, false, false},
		{"write with a wrong key", verbs.OpWrite, 8, start, allRights, false, true},
		{"write to another domain", verbs.OpWrite, 8, start, allRights, true, false},
		{"read one byte beyond", verbs.OpRead, size + 1, start, allRights, false, false},
		{"read without the right", verbs.OpRead, 8, start, verbs.LocalWrite | verbs.RemoteWrite, false, false},
		{"add beyond the end", verbs.OpFetchAdd, 8, func(_ *end, m *verbs.MR) uint64 { return m.Addr() + size }, allRights, false, false},
		{"add without the right", verbs.OpFetchAdd, 8, start, verbs.LocalWrite | verbs.RemoteWrite, false, false},
	}
	for _, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
		for _, r := range all {
			t.Run(fmt.Sprintf("%v/%s", kind, r.name), func(t *testing.T) {
				a, b := connect(t, Config{Paths: 2}, verbs.QPOptions{Type: kind}, 4*size)
				pd := b.pd
				if r.alien {
					var err error
					pd, err = b.dev.CreatePD()
					noError(t, err)
				}
				buf := make([]byte, 3*size) // the neighbours of the region are watched too
				fill(buf, 6)
				was := bytes.Clone(buf)
				mr, err := pd.RegisterMemory(buf[size:2*size], r.access)
				noError(t, err)
				key := mr.RKey()
				if r.stale {
					key ^= 0x10
				}
				noError(t, a.qp.PostSend(&verbs.SendWR{
					Op: r.op, Flags: verbs.Signaled, SGEs: []verbs.SGE{a.mr.SGE(0, r.length)},
					RemoteAddr: r.addr(b, mr), RKey: key,
				}))
				c, err := a.outcome(10 * time.Second)
				noError(t, err)
				if err := c.Err(); !errors.Is(err, verbs.ErrRemoteAccess) {
					t.Errorf("completion: %v", err)
				}
				noError(t, mr.Deregister())
				if !bytes.Equal(buf, was) {
					t.Error("memory changed")
				}
			})
		}
	}
}

// TestStoreAndLoadBesideThePeer changes and reads memory that a peer reads and
// writes at the same time. Under the race detector it shows that none of it is a
// race; besides, each packet holds bytes of one moment, and none is damaged.
func TestStoreAndLoadBesideThePeer(t *testing.T) {
	for _, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
		t.Run(kind.String(), func(t *testing.T) {
			const size, packet = 64 << 10, 4096
			a, b := connect(t, Config{Paths: 2, MTU: packet}, verbs.QPOptions{Type: kind}, 2*size)
			stop := make(chan struct{})
			var owner sync.WaitGroup
			owner.Go(func() {
				memory := make([]byte, size)
				for value := byte(0); ; value++ {
					select {
					case <-stop:
						return
					default:
					}
					fillWith(memory, value)
					noError(t, b.mr.Store(0, memory))
					noError(t, b.mr.Load(size, memory))
					wantUniform(t, "what the peer wrote", memory, packet)
				}
			})
			for value := range byte(100) {
				fillWith(a.mr.Bytes()[size:], value)
				noError(t, a.qp.PostSend(&verbs.SendWR{
					Op: verbs.OpWrite, SGEs: []verbs.SGE{a.mr.SGE(size, size)}, RemoteAddr: b.mr.Addr() + size, RKey: b.mr.RKey(),
				}))
				noError(t, a.qp.PostSend(&verbs.SendWR{
					Op: verbs.OpRead, Flags: verbs.Signaled, SGEs: []verbs.SGE{a.mr.SGE(0, size)}, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey(),
				}))
				a.wait()
				wantUniform(t, "what the peer read", a.mr.Bytes()[:size], packet)
			}
			close(stop)
			owner.Wait()
			if bad := statsOf(t, a.dev).BadICRC + statsOf(t, b.dev).BadICRC; bad != 0 {
				t.Errorf("%d packets changed after their ICRC was computed", bad)
			}
		})
	}
}

func fillWith(b []byte, value byte) {
	for i := range b {
		b[i] = value
	}
}

// wantUniform checks that each block of bytes holds one value.
func wantUniform(t *testing.T, what string, b []byte, block int) {
	t.Helper()
	for part := range slices.Chunk(b, block) {
		if bytes.Count(part, part[:1]) != len(part) {
			t.Fatalf("%s mixes two moments in one packet", what)
		}
	}
}
