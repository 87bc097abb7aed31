package verbs_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// connected runs a test over both kinds of connection.
func connected(t *testing.T, test func(t *testing.T, p *pair)) {
	for _, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
		t.Run(kind.String(), func(t *testing.T) { test(t, newPair(t, verbs.QPOptions{Type: kind})) })
	}
}

// pattern is a payload that shows a byte out of place.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8)
	}
	return b
}

func TestWriteThenRead(t *testing.T) {
	connected(t, func(t *testing.T, p *pair) {
		for id, n := range []int{0, 1, 4095, 4096, 4097, 30000} {
			want := pattern(n)
			copy(p.a.mr.Bytes(), want)
			p.a.post(verbs.SendWR{ID: uint64(id), Op: verbs.OpWrite, SGEs: p.a.sge(0, n), RemoteAddr: p.b.mr.Addr() + 8, RKey: p.b.mr.RKey()})
			p.a.wantDone(uint64(id), verbs.OpWrite)
			got := make([]byte, n)
			must(t, p.b.mr.Load(8, got))
			if !bytes.Equal(got, want) {
				t.Fatalf("write of %d bytes arrived wrong", n)
			}
			p.a.post(verbs.SendWR{ID: uint64(id), Op: verbs.OpRead, SGEs: p.a.sge(32768, n), RemoteAddr: p.b.mr.Addr() + 8, RKey: p.b.mr.RKey()})
			p.a.wantDone(uint64(id), verbs.OpRead)
			if !bytes.Equal(p.a.mr.Bytes()[32768:32768+n], want) {
				t.Fatalf("read of %d bytes arrived wrong", n)
			}
		}
	})
}

func TestSendGathersAndScatters(t *testing.T) {
	connected(t, func(t *testing.T, p *pair) {
		want := pattern(5000)
		copy(p.a.mr.Bytes(), want)
		must(t, p.b.qp.PostRecv(&verbs.RecvWR{ID: 7, SGEs: []verbs.SGE{
			p.b.mr.SGE(100, 10), {}, p.b.mr.SGE(1000, 8000),
		}}))
		p.a.post(verbs.SendWR{ID: 1, Op: verbs.OpSend, SGEs: []verbs.SGE{
			p.a.mr.SGE(0, 3), p.a.mr.SGE(3, 4997),
		}})
		p.a.wantDone(1, verbs.OpSend)
		c := p.b.wantDone(7, verbs.OpRecv)
		if c.Bytes != 5000 || c.HasImm {
			t.Fatalf("receive completion %+v", c)
		}
		got := append(bytes.Clone(p.b.mr.Bytes()[100:110]), p.b.mr.Bytes()[1000:5990]...)
		if !bytes.Equal(got, want) {
			t.Fatal("message arrived wrong")
		}
	})
}

func TestImmediateAndInline(t *testing.T) {
	connected(t, func(t *testing.T, p *pair) {
		must(t, p.b.qp.PostRecv(&verbs.RecvWR{ID: 1, SGEs: p.b.sge(0, 16)}))
		must(t, p.b.qp.PostRecv(&verbs.RecvWR{ID: 2}))
		p.a.post(verbs.SendWR{ID: 3, Op: verbs.OpSendImm, Imm: 0xfeedface, Inline: []byte("inline")})
		p.a.post(verbs.SendWR{ID: 4, Op: verbs.OpWriteImm, Imm: 5, Inline: []byte("written"), RemoteAddr: p.b.mr.Addr() + 64, RKey: p.b.mr.RKey()})
		p.a.wantDone(3, verbs.OpSendImm)
		p.a.wantDone(4, verbs.OpWriteImm)
		if c := p.b.wantDone(1, verbs.OpRecv); !c.HasImm || c.Imm != 0xfeedface || c.Bytes != 6 {
			t.Fatalf("send with immediate: %+v", c)
		}
		if c := p.b.wantDone(2, verbs.OpRecvWriteImm); !c.HasImm || c.Imm != 5 {
			t.Fatalf("write with immediate: %+v", c)
		}
		if got := string(p.b.mr.Bytes()[:6]) + string(p.b.mr.Bytes()[64:71]); got != "inlinewritten" {
			t.Fatalf("payload %q", got)
		}
	})
}

func TestAtomics(t *testing.T) {
	connected(t, func(t *testing.T, p *pair) {
		must(t, p.b.mr.StoreUint64(16, 40))
		post := func(id uint64, op verbs.Op, compare, swapAdd, wantOld, wantNew uint64) {
			t.Helper()
			p.a.post(verbs.SendWR{ID: id, Op: op, Compare: compare, SwapAdd: swapAdd, SGEs: p.a.sge(0, 8), RemoteAddr: p.b.mr.Addr() + 16, RKey: p.b.mr.RKey()})
			p.a.wantDone(id, op)
			old, err := p.a.mr.LoadUint64(0)
			must(t, err)
			now, err := p.b.mr.LoadUint64(16)
			must(t, err)
			if old != wantOld || now != wantNew {
				t.Fatalf("request %d: old %d, now %d; want %d, %d", id, old, now, wantOld, wantNew)
			}
		}
		post(1, verbs.OpFetchAdd, 0, 2, 40, 42)
		post(2, verbs.OpCompareSwap, 41, 1, 42, 42)
		post(3, verbs.OpCompareSwap, 42, 1, 42, 1)
	})
}

// Memory in which the numbers of peers would not be aligned cannot take the place of a region's: their atomics
// would change nothing and be told that they had.
func TestAtomicsAfterReplace(t *testing.T) {
	connected(t, func(t *testing.T, p *pair) {
		buf := make([]byte, p.b.mr.Len()+8)
		if err := p.b.mr.Replace(buf[1 : 1+p.b.mr.Len()]); !errors.Is(err, verbs.ErrRange) {
			t.Errorf("memory at an odd address: %v, want ErrRange", err)
		}
		add := verbs.SendWR{ID: 1, Op: verbs.OpFetchAdd, SwapAdd: 1, SGEs: p.a.sge(0, 8), RemoteAddr: p.b.mr.Addr() + 16, RKey: p.b.mr.RKey()}
		p.a.post(add)
		p.a.wantDone(1, verbs.OpFetchAdd)
		must(t, p.b.mr.Replace(buf[:p.b.mr.Len()]))
		must(t, p.b.mr.StoreUint64(16, 40))
		p.a.post(add)
		p.a.wantDone(1, verbs.OpFetchAdd)
		if now, err := p.b.mr.LoadUint64(16); now != 41 || err != nil {
			t.Errorf("40 and one more is %d, %v", now, err)
		}
		// Where peers run no atomics any place will do.
		plain, err := p.b.pd.RegisterMemory(buf[:8], verbs.RemoteRead)
		must(t, err)
		must(t, plain.Replace(buf[1:9]))
	})
}

func TestInvalidateEndsKeyUntilRekey(t *testing.T) {
	p := newPair(t, verbs.QPOptions{Type: verbs.RC})
	key := p.b.mr.RKey()
	must(t, p.b.qp.PostRecv(&verbs.RecvWR{ID: 1}))
	p.a.post(verbs.SendWR{ID: 2, Op: verbs.OpSendInv, RKey: key})
	p.a.wantDone(2, verbs.OpSendInv)
	if c := p.b.wantDone(1, verbs.OpRecv); !c.HasInv || c.InvalidatedRKey != key {
		t.Fatalf("completion %+v", c)
	}
	fresh, err := p.b.mr.Rekey()
	must(t, err)
	if fresh == key || fresh != p.b.mr.RKey() {
		t.Fatalf("key %#x after %#x", fresh, key)
	}
	p.a.post(verbs.SendWR{ID: 3, Op: verbs.OpWrite, Inline: []byte{1}, RemoteAddr: p.b.mr.Addr(), RKey: fresh})
	p.a.wantDone(3, verbs.OpWrite)
	p.a.post(verbs.SendWR{ID: 4, Op: verbs.OpWrite, Inline: []byte{1}, RemoteAddr: p.b.mr.Addr(), RKey: key})
	p.a.wantFailed(4, transport.RemAccessErr)
}

func TestCompletionErrorIs(t *testing.T) {
	p := newPair(t, verbs.QPOptions{Type: verbs.RC})
	p.a.post(verbs.SendWR{ID: 9, Op: verbs.OpWrite, Inline: []byte{1}, RemoteAddr: p.b.mr.Addr(), RKey: p.b.mr.RKey() ^ 1})
	c := p.a.wait()
	err := c.Err()
	if !errors.Is(err, verbs.ErrRemoteAccess) || !errors.Is(err, transport.RemAccessErr) || errors.Is(err, verbs.ErrFlushed) {
		t.Fatalf("error %v", err)
	}
	var ce *verbs.CompletionError
	if !errors.As(err, &ce) || ce.WRID != 9 || ce.Status.String() != "IBV_WC_REM_ACCESS_ERR" {
		t.Fatalf("error %#v", err)
	}
}

func TestDatagram(t *testing.T) {
	p := newPair(t, verbs.QPOptions{Type: verbs.UD})
	to, err := p.a.pd.CreateAH(p.b.dev.Query().Local)
	must(t, err)
	must(t, p.b.qp.PostRecv(&verbs.RecvWR{ID: 1, SGEs: p.b.sge(0, 2048)}))
	must(t, p.a.qp.PostRecv(&verbs.RecvWR{ID: 2, SGEs: p.a.sge(0, 2048)}))
	p.a.post(verbs.SendWR{ID: 3, Op: verbs.OpSend, Inline: []byte("ping"), AH: to, RemoteQPN: p.b.qp.Number(), RemoteQKey: testQKey})
	p.a.wantDone(3, verbs.OpSend)
	c := p.b.wantDone(1, verbs.OpRecv)
	if got := p.b.mr.Bytes()[verbs.GRHLength:c.Bytes]; string(got) != "ping" || c.SrcQP != p.a.qp.Number() {
		t.Fatalf("datagram %q, completion %+v", got, c)
	}
	if from, err := p.b.pd.AddrOf(c.Source); err != nil || from != p.a.dev.Query().Local {
		t.Fatalf("source %v, %v", from, err)
	}
	p.b.post(verbs.SendWR{ID: 4, Op: verbs.OpSend, Inline: []byte("pong"), AH: c.Source, RemoteQPN: c.SrcQP, RemoteQKey: testQKey})
	p.b.wantDone(4, verbs.OpSend)
	if c := p.a.wantDone(2, verbs.OpRecv); string(p.a.mr.Bytes()[verbs.GRHLength:c.Bytes]) != "pong" {
		t.Fatalf("answer %+v", c)
	}
	p.a.pd.DestroyAH(to)
	if err := p.a.qp.PostSend(&verbs.SendWR{Op: verbs.OpSend, AH: to}); !errors.Is(err, verbs.ErrAddress) {
		t.Fatalf("post to a destroyed handle: %v", err)
	}
}
