//go:build ibverbs && linux && cgo

package ibverbs

import (
	"testing"

	"github.com/braid-rdma/braid/verbs"
)

// BenchmarkRead is what ib_read_lat measures: from the post to the completion.
func BenchmarkRead(b *testing.B) {
	x, y := newPair(b, verbs.QPOptions{})
	var done [1]verbs.Completion
	b.ReportAllocs()
	for b.Loop() {
		wr := verbs.SendWR{Op: verbs.OpRead, Flags: verbs.Signaled, SGEs: []verbs.SGE{x.mr.SGE(0, 64)}, RemoteAddr: y.mr.Addr(), RKey: y.mr.RKey()}
		if err := x.qp.PostSend(&wr); err != nil {
			b.Fatal(err)
		}
		for n := 0; n == 0; {
			n, _ = x.cq.Poll(done[:])
		}
		if err := done[0].Err(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWait is the same by a thread that sleeps until the completion is there.
func BenchmarkWait(b *testing.B) {
	x, y := newEnd(b, openDevice(b, 0, Config{Spin: -1}), verbs.QPOptions{}), newEnd(b, openDevice(b, 1, Config{}), verbs.QPOptions{})
	connect(b, x, y)
	for b.Loop() {
		x.post(y, verbs.SendWR{Op: verbs.OpRead}, 64)
		x.want(0, verbs.OpRead, nil)
	}
}
