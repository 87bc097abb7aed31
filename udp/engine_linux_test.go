package udp

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/braid-rdma/braid/verbs"
)

func TestOperations(t *testing.T) {
	for _, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
		for _, size := range []int{0, 1, 63, 1024, 4096, 4097, 100_003, 1 << 20} {
			t.Run(fmt.Sprintf("%v/%d", kind, size), func(t *testing.T) {
				a, b := connect(t, Config{Paths: 4}, verbs.QPOptions{Type: kind}, 2<<20)
				testOperations(t, a, b, size)
			})
		}
	}
}

func testOperations(t *testing.T, a, b *end, size int) {
	fill(a.mr.Bytes()[:size], 1)
	post := func(wr verbs.SendWR) {
		t.Helper()
		wr.Flags |= verbs.Signaled
		noError(t, a.qp.PostSend(&wr))
		a.wait()
	}
	remote := b.mr.Addr()
	sge := []verbs.SGE{a.mr.SGE(0, size)}
	post(verbs.SendWR{Op: verbs.OpWrite, SGEs: sge, RemoteAddr: remote, RKey: b.mr.RKey()})
	got := make([]byte, size)
	noError(t, b.mr.Load(0, got))
	if !bytes.Equal(got, a.mr.Bytes()[:size]) {
		t.Fatal("WRITE: wrong bytes")
	}
	back := []verbs.SGE{a.mr.SGE(1<<20, size)}
	post(verbs.SendWR{Op: verbs.OpRead, SGEs: back, RemoteAddr: remote, RKey: b.mr.RKey()})
	if !bytes.Equal(a.mr.Bytes()[1<<20:1<<20+size], a.mr.Bytes()[:size]) {
		t.Fatal("READ: wrong bytes")
	}
	noError(t, b.qp.PostRecv(&verbs.RecvWR{ID: 7, SGEs: []verbs.SGE{b.mr.SGE(1<<20, 1<<20)}}))
	post(verbs.SendWR{Op: verbs.OpSendImm, SGEs: sge, Imm: 42})
	if c := b.wait(); c.WRID != 7 || int(c.Bytes) != size || c.Imm != 42 {
		t.Fatalf("receive: %+v", c)
	}
	if !bytes.Equal(b.mr.Bytes()[1<<20:1<<20+size], a.mr.Bytes()[:size]) {
		t.Fatal("SEND: wrong bytes")
	}
	old, err := b.mr.LoadUint64(8)
	noError(t, err)
	word := []verbs.SGE{a.mr.SGE(64, 8)}
	post(verbs.SendWR{Op: verbs.OpFetchAdd, SGEs: word, RemoteAddr: remote + 8, RKey: b.mr.RKey(), SwapAdd: 5})
	now, err := b.mr.LoadUint64(8)
	noError(t, err)
	before, err := a.mr.LoadUint64(64)
	noError(t, err)
	if before != old || now != old+5 {
		t.Fatalf("FETCH_ADD: got %d, memory %d, want %d and %d", before, now, old, old+5)
	}
}

func fill(b []byte, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
}

// Where nothing is dropped, whatever was sent again counts as late and not as lost.
func TestLateIsNotLost(t *testing.T) {
	const size, writes = 1 << 20, 200
	x, y := connect(t, Config{}, verbs.QPOptions{Type: verbs.MP, SendDepth: 16, SignalAll: true}, size)
	wr := verbs.SendWR{Op: verbs.OpWrite, SGEs: []verbs.SGE{x.mr.SGE(0, size)}, RemoteAddr: y.mr.Addr(), RKey: y.mr.RKey()}
	for i := range writes {
		if i >= 16 {
			x.wait()
		}
		noError(t, x.qp.PostSend(&wr))
	}
	for range 16 {
		x.wait()
	}
	eventually(t, "every retransmission is accounted for", func() bool {
		if statsOf(t, x.dev).SocketOverflow+statsOf(t, y.dev).SocketOverflow > 0 {
			t.Skip("the kernel had no room for a packet, which was lost")
		}
		n := x.qp.Stats()
		return n.Retransmitted == n.Spurious
	})
	n := x.qp.Stats()
	t.Logf("%d of %d packets were sent again, and none was lost", n.Retransmitted, n.PacketsSent)
}

// BenchmarkWrite measures RDMA WRITE between two devices of one process.
func BenchmarkWrite(b *testing.B) {
	for _, kind := range []verbs.QPType{verbs.MP, verbs.RC} {
		for _, size := range []int{64, 4096, 1 << 20} {
			b.Run(fmt.Sprintf("%v/%d", kind, size), func(b *testing.B) {
				x, y := connect(b, Config{Paths: 4}, verbs.QPOptions{Type: kind, SendDepth: 128, SignalAll: true}, 1<<20)
				benchmarkWrite(b, x, y, size, min(128, max(8, (4<<20)/size)))
			})
		}
	}
}

func benchmarkWrite(b *testing.B, x, y *end, size, depth int) {
	wr := verbs.SendWR{Op: verbs.OpWrite, SGEs: []verbs.SGE{x.mr.SGE(0, size)}, RemoteAddr: y.mr.Addr(), RKey: y.mr.RKey()}
	wrs := make([]verbs.SendWR, depth)
	for i := range wrs {
		wrs[i] = wr
	}
	out := make([]verbs.Completion, depth)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	b.ResetTimer()
	for posted, done := 0, 0; done < b.N; {
		if room := min(depth-(posted-done), b.N-posted); room > 0 {
			n, err := x.qp.PostSends(wrs[:room])
			noError(b, err)
			posted += n
		}
		n, err := x.cq.Poll(out)
		noError(b, err)
		for _, c := range out[:n] {
			noError(b, c.Err())
		}
		done += n
	}
	b.StopTimer()
	b.ReportMetric(float64(x.qp.Stats().Retransmitted), "retransmits")
}
