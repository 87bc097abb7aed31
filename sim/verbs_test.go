package sim

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net/netip"
	"testing"

	"github.com/braid-rdma/braid/verbs"
)

// side is a program's end of a connection.
type side struct {
	t   *testing.T
	dev *verbs.Device
	cq  *verbs.CQ
	pd  *verbs.PD
	mr  *verbs.MR
	qp  *verbs.QP
}

// newSide makes the objects of a program on a host.
func newSide(t *testing.T, n *Network, host int, o verbs.QPOptions) *side {
	t.Helper()
	s := &side{t: t, dev: n.Device(host)}
	var err error
	s.cq, err = s.dev.CreateCQ(256)
	s.must(err)
	s.pd, err = s.dev.CreatePD()
	s.must(err)
	s.mr, err = s.pd.RegisterMemory(make([]byte, 1<<16), verbs.LocalWrite|verbs.RemoteWrite|verbs.RemoteRead|verbs.RemoteAtomic)
	s.must(err)
	o.SendCQ = s.cq
	s.qp, err = s.pd.CreateQP(o)
	s.must(err)
	return s
}

func (s *side) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// wait lets the simulation go on until the program has a completion.
func (s *side) wait() verbs.Completion {
	s.t.Helper()
	var c [1]verbs.Completion
	if _, err := s.cq.Wait(context.Background(), c[:]); err != nil {
		s.t.Fatal(err)
	}
	s.must(c[0].Err())
	return c[0]
}

// request posts a request and waits for it.
func (s *side) request(wr verbs.SendWR) verbs.Completion {
	s.t.Helper()
	wr.Flags |= verbs.Signaled
	s.must(s.qp.PostSend(&wr))
	return s.wait()
}

// pair connects programs on two hosts.
func pair(t *testing.T, n *Network, o verbs.QPOptions) (a, b *side) {
	t.Helper()
	a, b = newSide(t, n, 0, o), newSide(t, n, n.Hosts()-1, o)
	a.must(a.qp.Connect(b.qp.Params()))
	b.must(b.qp.Connect(a.qp.Params()))
	return a, b
}

// TestPrograms runs every operation between two programs, as they would run over
// sockets: waiting for a completion makes virtual time pass.
func TestPrograms(t *testing.T) {
	for name, o := range map[string]verbs.QPOptions{"RC": rc, "MP paper": paper, "MP wire": wired} {
		for _, wireMode := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				n := newNetwork(t, leafSpine(2, 1, 4), Config{Seed: 1, MTU: 1024, Verify: true, Wire: wireMode})
				a, b := pair(t, n, o)
				exercise(t, a, b)
				before := n.Now()
				a.request(verbs.SendWR{Op: verbs.OpWrite, SGEs: []verbs.SGE{a.mr.SGE(0, 8)}, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey()})
				// Four links of 1 µs there and back, and the packets' own length.
				if took := n.Now() - before; took < 8*Microsecond || took > 9*Microsecond {
					t.Errorf("a small WRITE took %v", took)
				}
				a.must(a.dev.Close())
				b.must(b.dev.Close())
				n.Run(1000 * Second)
				a.must(n.AuditEnd())
			})
		}
	}
}

// exercise runs every operation and checks what comes of it.
func exercise(t *testing.T, a, b *side) {
	t.Helper()
	local, remote := a.mr.Bytes(), b.mr.Bytes()
	for i := range local {
		local[i] = byte(i * 7)
	}
	const size = 5000 // five packets
	to := verbs.SendWR{RemoteAddr: b.mr.Addr() + 100, RKey: b.mr.RKey(), SGEs: []verbs.SGE{a.mr.SGE(3, 2000), a.mr.SGE(9000, 3000)}}
	source := append(bytes.Clone(local[3:2003]), local[9000:12000]...)

	write := to
	write.Op = verbs.OpWrite
	a.request(write)
	if !bytes.Equal(remote[100:100+size], source) || remote[99] != 0 || remote[100+size] != 0 {
		t.Error("WRITE: wrong bytes")
	}
	read := verbs.SendWR{Op: verbs.OpRead, RemoteAddr: b.mr.Addr() + 100, RKey: b.mr.RKey(), SGEs: []verbs.SGE{a.mr.SGE(30000, size)}}
	a.request(read)
	if !bytes.Equal(local[30000:30000+size], source) {
		t.Error("READ: wrong bytes")
	}
	b.must(b.qp.PostRecv(&verbs.RecvWR{ID: 9, SGEs: []verbs.SGE{b.mr.SGE(20000, size)}}))
	send := to
	send.Op, send.Imm = verbs.OpSendImm, 0xfeed
	a.request(send)
	if c := b.wait(); c.WRID != 9 || c.Bytes != size || !c.HasImm || c.Imm != 0xfeed || !bytes.Equal(remote[20000:20000+size], source) {
		t.Errorf("SEND: %+v, or wrong bytes", c)
	}
	binary.NativeEndian.PutUint64(remote[50000:], 40)
	atomic := verbs.SendWR{Op: verbs.OpFetchAdd, SwapAdd: 2, RemoteAddr: b.mr.Addr() + 50000, RKey: b.mr.RKey(), SGEs: []verbs.SGE{a.mr.SGE(40000, 8)}}
	a.request(atomic)
	if got, left := binary.NativeEndian.Uint64(local[40000:]), binary.NativeEndian.Uint64(remote[50000:]); got != 40 || left != 42 {
		t.Errorf("FETCH_ADD answered %d and left %d", got, left)
	}
	atomic.Op, atomic.Compare, atomic.SwapAdd = verbs.OpCompareSwap, 42, 7
	a.request(atomic)
	if got, left := binary.NativeEndian.Uint64(local[40000:]), binary.NativeEndian.Uint64(remote[50000:]); got != 42 || left != 7 {
		t.Errorf("CMP_SWAP answered %d and left %d", got, left)
	}
}

// TestDatagrams sends datagrams both ways and to an address that nobody has.
func TestDatagrams(t *testing.T) {
	for _, wireMode := range []bool{false, true} {
		n := newNetwork(t, leafSpine(2, 1, 2), Config{Seed: 1, Verify: true, Wire: wireMode})
		o := verbs.QPOptions{Type: verbs.UD}
		a, b := newSide(t, n, 0, o), newSide(t, n, 1, o)
		a.must(a.qp.Activate(7))
		b.must(b.qp.Activate(7))
		b.must(b.qp.PostRecv(&verbs.RecvWR{ID: 1, SGEs: []verbs.SGE{b.mr.SGE(0, 1000)}}))
		copy(a.mr.Bytes(), "through the fabric")
		ah, err := a.pd.CreateAH(b.qp.Params().Addr)
		a.must(err)
		nowhere, err := a.pd.CreateAH(netip.MustParseAddr("10.9.9.9"))
		a.must(err)
		wr := verbs.SendWR{Op: verbs.OpSend, SGEs: []verbs.SGE{a.mr.SGE(0, 18)}, AH: nowhere, RemoteQPN: b.qp.Number(), RemoteQKey: 7}
		a.request(wr)
		wr.AH = ah
		a.request(wr)
		c := b.wait()
		if c.Bytes != verbs.GRHLength+18 || string(b.mr.Bytes()[verbs.GRHLength:][:18]) != "through the fabric" || c.SrcQP != a.qp.Number() {
			t.Errorf("%+v", c)
		}
		if from, err := b.pd.AddrOf(c.Source); err != nil || from != a.qp.Params().Addr {
			t.Errorf("the source is %v, %v", from, err)
		}
		n.Run(Second)
		a.must(n.AuditEnd())
		if n.hosts[0].unknown+n.hosts[1].unknown != 1 {
			t.Errorf("%d datagrams to nowhere", n.hosts[0].unknown+n.hosts[1].unknown)
		}
	}
}

// TestDatagramPaths sends datagrams on all virtual paths while one of four links is cut: those of
// some paths are lost, the same ones each time.
func TestDatagramPaths(t *testing.T) {
	const virtual = 32
	n := newNetwork(t, paths(4, 1*gbps, 4*gbps), Config{Seed: 1, Paths: virtual, Verify: true})
	o := verbs.QPOptions{Type: verbs.UD}
	a, b := newSide(t, n, 0, o), newSide(t, n, 1, o)
	a.must(a.qp.Activate(7))
	b.must(b.qp.Activate(7))
	ah, err := a.pd.CreateAH(b.qp.Params().Addr)
	a.must(err)
	impair(t, n, n.Now(), "tor0-path2", Both, Impairment{Down: true})
	arrived := [2][virtual]bool{}
	for round := range arrived {
		for path := range virtual {
			if path%16 == 0 {
				for i := range 16 {
					b.must(b.qp.PostRecv(&verbs.RecvWR{SGEs: []verbs.SGE{b.mr.SGE(64*i, 64)}}))
				}
			}
			a.request(verbs.SendWR{
				Op: verbs.OpSendImm, Imm: uint32(path), SGEs: []verbs.SGE{a.mr.SGE(0, 8)},
				AH: verbs.AHOnPath(ah, path), RemoteQPN: b.qp.Number(), RemoteQKey: 7,
			})
		}
		n.Run(n.Now() + Millisecond)
		var done [virtual]verbs.Completion
		count, err := b.cq.Poll(done[:])
		b.must(err)
		for _, c := range done[:count] {
			arrived[round][c.Imm] = true
		}
		if count < virtual/2 || count == virtual {
			t.Errorf("%d of %d datagrams arrived with one of four links cut", count, virtual)
		}
	}
	if arrived[0] != arrived[1] {
		t.Errorf("arrived by path: %v, then %v", arrived[0], arrived[1])
	}
}

// TestWaitForNothing checks that a program which waits for what cannot happen is
// told so.
func TestWaitForNothing(t *testing.T) {
	n := newNetwork(t, leafSpine(2, 1, 2), Config{Seed: 1, Verify: true})
	a, _ := pair(t, n, rc)
	var c [1]verbs.Completion
	if _, err := a.cq.Wait(context.Background(), c[:]); !errors.Is(err, ErrIdle) {
		t.Errorf("wait ended with %v", err)
	}
}

// TestProgramsActAtTheEndOfARun checks that what a program does after Run happens
// at the instant up to which it ran.
func TestProgramsActAtTheEndOfARun(t *testing.T) {
	n := newNetwork(t, leafSpine(2, 1, 2), Config{Seed: 1, Verify: true})
	a, b := pair(t, n, rc)
	n.Run(5 * Millisecond)
	a.request(verbs.SendWR{Op: verbs.OpWrite, SGEs: []verbs.SGE{a.mr.SGE(0, 8)}, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey()})
	if n.Now() < 5*Millisecond+8*Microsecond || n.Now() > 5*Millisecond+9*Microsecond {
		t.Errorf("a request posted at 5 ms completed at %v", n.Now())
	}
}

// TestScriptedPrograms checks At.
func TestScriptedPrograms(t *testing.T) {
	n := newNetwork(t, leafSpine(2, 1, 2), Config{Seed: 1, Verify: true})
	var at []Time
	for _, when := range []Time{3 * Microsecond, Microsecond} {
		if err := n.At(when, 1, func() { at = append(at, n.Now()) }); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.At(0, 2, nil); !errors.Is(err, ErrConfig) {
		t.Errorf("a host that does not exist: %v", err)
	}
	n.Run(Millisecond)
	if len(at) != 2 || at[0] != Microsecond || at[1] != 3*Microsecond {
		t.Errorf("happened at %v", at)
	}
}
