//go:build ibverbs && linux && cgo

package ibverbs

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

func TestOperationsCarryTheirBytes(t *testing.T) {
	a, b := newPair(t, verbs.QPOptions{})
	seed := byte(1)
	for _, size := range []int{1, 64, 1024, 4097, 1 << 20} {
		for _, way := range []struct{ from, to *end }{{a, b}, {b, a}} {
			from, to := way.from, way.to
			seed++
			from.fill(size, seed)
			from.post(to, verbs.SendWR{ID: 1, Op: verbs.OpWrite}, size)
			if c := from.want(1, verbs.OpWrite, nil); int(c.Bytes) != size {
				t.Errorf("WRITE of %d bytes says %d", size, c.Bytes)
			}
			to.wantBytes("WRITE", pattern(size, seed))

			runtime.GC() // what is registered stays where it is
			seed++
			to.fill(size, seed)
			from.post(to, verbs.SendWR{ID: 2, Op: verbs.OpRead}, size)
			from.want(2, verbs.OpRead, nil)
			from.wantBytes("READ", pattern(size, seed))

			seed++
			from.fill(size, seed)
			to.recv(3, memorySize)
			from.post(to, verbs.SendWR{ID: 4, Op: verbs.OpSend}, size)
			from.want(4, verbs.OpSend, nil)
			if c := to.want(3, verbs.OpRecv, nil); int(c.Bytes) != size || c.HasImm {
				t.Errorf("SEND of %d bytes arrives as %+v", size, c)
			}
			to.wantBytes("SEND", pattern(size, seed))
		}
	}
}

func TestImmediateData(t *testing.T) {
	a, b := newPair(t, verbs.QPOptions{RC: transport.RCOptions{Path: 9}}) // on a path of its own

	b.recv(1, 4096)
	a.post(b, verbs.SendWR{ID: 2, Op: verbs.OpSendImm, Imm: 0x01020304}, 10)
	a.want(2, verbs.OpSendImm, nil)
	if c := b.want(1, verbs.OpRecv, nil); !c.HasImm || c.Imm != 0x01020304 || c.Bytes != 10 {
		t.Errorf("SEND with immediate data arrives as %+v", c)
	}
	b.recv(3, 0)
	a.post(b, verbs.SendWR{ID: 4, Op: verbs.OpWriteImm, Imm: 7}, 100)
	a.want(4, verbs.OpWriteImm, nil)
	if c := b.want(3, verbs.OpRecvWriteImm, nil); !c.HasImm || c.Imm != 7 || c.Bytes != 100 {
		t.Errorf("WRITE with immediate data arrives as %+v", c)
	}
}

func TestAtomics(t *testing.T) {
	a, b := newPair(t, verbs.QPOptions{})
	must(t, b.mr.StoreUint64(0, 40))
	for i, step := range []struct {
		wr            verbs.SendWR
		before, after uint64
	}{
		{verbs.SendWR{Op: verbs.OpFetchAdd, SwapAdd: 2}, 40, 42},
		{verbs.SendWR{Op: verbs.OpCompareSwap, Compare: 41, SwapAdd: 1}, 42, 42},
		{verbs.SendWR{Op: verbs.OpCompareSwap, Compare: 42, SwapAdd: 1 << 40}, 42, 1 << 40},
	} {
		a.post(b, step.wr, 8)
		if c := a.want(0, step.wr.Op, nil); c.Bytes != 8 {
			t.Errorf("step %d: %d bytes, want 8", i, c.Bytes)
		}
		before := binary.NativeEndian.Uint64(a.mr.Bytes())
		after, err := b.mr.LoadUint64(0)
		must(t, err)
		if before != step.before || after != step.after {
			t.Errorf("step %d: from %d to %d, want from %d to %d", i, before, after, step.before, step.after)
		}
	}
}

func TestElementsAndInline(t *testing.T) {
	a, b := newPair(t, verbs.QPOptions{})
	copy(a.mr.Bytes(), "onetwo")
	must(t, b.qp.PostRecv(&verbs.RecvWR{SGEs: []verbs.SGE{b.mr.SGE(0, 2), b.mr.SGE(0, 0), b.mr.SGE(2, 10)}}))
	a.post(b, verbs.SendWR{Op: verbs.OpSend, SGEs: []verbs.SGE{a.mr.SGE(3, 3), {}, a.mr.SGE(0, 3)}}, 0)
	a.want(0, verbs.OpSend, nil)
	b.want(0, verbs.OpRecv, nil)
	b.wantBytes("SEND of two elements", []byte("twoone"))

	inline := pattern(200, 5)
	a.post(b, verbs.SendWR{Op: verbs.OpWrite, Inline: inline}, 0)
	clear(inline) // it was copied
	a.want(0, verbs.OpWrite, nil)
	b.wantBytes("inline WRITE", pattern(200, 5))

	// A message of nothing, by either list.
	for _, wr := range []verbs.SendWR{{Op: verbs.OpSend, SGEs: []verbs.SGE{}}, {Op: verbs.OpSend, Inline: []byte{}}} {
		b.recv(9, 64)
		a.post(b, wr, 0)
		a.want(0, verbs.OpSend, nil)
		if c := b.want(9, verbs.OpRecv, nil); c.Bytes != 0 {
			t.Errorf("an empty message has %d bytes", c.Bytes)
		}
	}
}

// The memory of a program, not only that of AllocMemory, and not at a page boundary.
func TestMemoryOfTheProgram(t *testing.T) {
	a, b := newPair(t, verbs.QPOptions{})
	buffer := pattern(10_000, 3)
	m, err := a.pd.RegisterMemory(buffer[17:9000], 0)
	must(t, err)
	runtime.GC()
	a.post(b, verbs.SendWR{Op: verbs.OpWrite, SGEs: []verbs.SGE{m.All()}}, 0)
	a.want(0, verbs.OpWrite, nil)
	b.wantBytes("WRITE", pattern(10_000, 3)[17:9000])
	if q := a.pd.Device().Query(); q.MRs != 2 || q.Name != "ibverbs" {
		t.Errorf("%+v, want 2 regions on ibverbs", q)
	}
}

// A program that signals nothing, or seldom, does not have to poll for room.
func TestUnsignalledSendsLeaveTheQueue(t *testing.T) {
	a, b := newPair(t, verbs.QPOptions{SendDepth: 8})
	deadline := time.Now().Add(patience)
	for i := range 100 {
		wr := verbs.SendWR{Op: verbs.OpFetchAdd, SwapAdd: 1, SGEs: []verbs.SGE{a.mr.SGE(8, 8)}, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey()}
		err := a.qp.PostSend(&wr)
		for errors.Is(err, verbs.ErrQueueFull) && time.Now().Before(deadline) {
			runtime.Gosched()
			err = a.qp.PostSend(&wr)
		}
		if err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
	}
	a.post(b, verbs.SendWR{ID: 5, Op: verbs.OpRead, Flags: verbs.Fence}, 8)
	a.want(5, verbs.OpRead, nil)
	if got := binary.NativeEndian.Uint64(a.mr.Bytes()); got != 100 {
		t.Errorf("%d of 100 requests were executed", got)
	}
	a.wantNothing()
}

func TestDatagrams(t *testing.T) {
	da, db := openDevices(t)
	a, b := newEnd(t, da, verbs.QPOptions{Type: verbs.UD}), newEnd(t, db, verbs.QPOptions{Type: verbs.UD})
	const key = 0x11
	must(t, a.qp.Prepare())
	a.recv(1, 4096)
	must(t, a.qp.Activate(key))
	must(t, b.qp.Activate(key))
	// The header in front may be in elements of its own.
	must(t, b.qp.PostRecv(&verbs.RecvWR{ID: 2, SGEs: []verbs.SGE{b.mr.SGE(0, 30), b.mr.SGE(30, 4096)}}))

	to, err := a.pd.CreateAH(netip.MustParseAddr(db.Query().Local.String()))
	must(t, err)
	copy(a.mr.Bytes()[8192:], "question")
	wr := verbs.SendWR{Op: verbs.OpSendImm, Imm: 6, SGEs: []verbs.SGE{a.mr.SGE(8192, 8)}, AH: to, RemoteQPN: b.qp.Number(), RemoteQKey: key}
	a.post(b, wr, 0)
	a.want(0, verbs.OpSendImm, nil)
	c := b.want(2, verbs.OpRecv, nil)
	if c.Bytes != verbs.GRHLength+8 || !c.HasImm || c.Imm != 6 || c.SrcQP != a.qp.Number() || string(b.mr.Bytes()[verbs.GRHLength:][:8]) != "question" {
		t.Fatalf("a datagram arrives as %+v: %q", c, b.mr.Bytes()[:48])
	}
	if source, err := b.pd.AddrOf(c.Source); err != nil || source != da.Query().Local {
		t.Fatalf("it comes from %v (%v), want %v", source, err, da.Query().Local)
	}
	b.post(a, verbs.SendWR{Op: verbs.OpSend, Inline: []byte("answer"), AH: c.Source, RemoteQPN: c.SrcQP, RemoteQKey: key}, 0)
	b.want(0, verbs.OpSend, nil)
	a.want(1, verbs.OpRecv, nil)
	if got := string(a.mr.Bytes()[verbs.GRHLength:][:6]); got != "answer" {
		t.Errorf("the reply is %q", got)
	}
	if err := a.qp.PostSend(&verbs.SendWR{Op: verbs.OpSend, SGEs: []verbs.SGE{a.mr.SGE(0, 8192)}, AH: to}); !errors.Is(err, verbs.ErrTooLong) {
		t.Errorf("a datagram of two packets: %v", err)
	}
	if err := a.qp.PostSend(&verbs.SendWR{Op: verbs.OpWrite, AH: to}); !errors.Is(err, verbs.ErrOperation) {
		t.Errorf("a WRITE by datagram: %v", err)
	}
}

func TestPostAndPollDoNotAllocate(t *testing.T) {
	a, b := newPair(t, verbs.QPOptions{})
	var done [1]verbs.Completion
	allocs := testing.AllocsPerRun(50, func() {
		wr := verbs.SendWR{Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: []verbs.SGE{a.mr.SGE(0, 64)}, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey()}
		if err := a.qp.PostSend(&wr); err != nil {
			t.Fatal(err)
		}
		for n := 0; n == 0; {
			n, _ = a.cq.Poll(done[:])
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations per operation", allocs)
	}
}
