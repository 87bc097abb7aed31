package bundle

import (
	"fmt"
	"testing"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/verbs"
)

// BenchmarkWrite writes 1 MiB at a time, 8 of them outstanding: over one RC queue pair, over
// one MP queue pair, and over bundles of RC queue pairs. Only ratios of one run mean
// something.
func BenchmarkWrite(b *testing.B) {
	const size, depth = 1 << 20, 8
	b.Run("RC", func(b *testing.B) { benchmarkQP(b, verbs.RC, size, depth) })
	b.Run("MP", func(b *testing.B) { benchmarkQP(b, verbs.MP, size, depth) })
	for _, n := range []int{1, 2, 4} {
		b.Run(fmt.Sprint("bundle", n), func(b *testing.B) { benchmarkBundle(b, n, size, depth) })
	}
}

func benchmarkQP(b *testing.B, kind verbs.QPType, size, depth int) {
	x, y := socketPair(b)
	cqs := [2]*verbs.CQ{}
	for i, s := range []*side{x, y} {
		cq, err := s.dev.CreateCQ(64)
		must(b, err)
		cqs[i] = cq
	}
	l, err := y.manager.Listen(0)
	must(b, err)
	accepted := make(chan error, 1)
	go func() {
		_, err := l.Accept(testContext(b), cm.Options{PD: y.pd, QP: verbs.QPOptions{Type: kind, SendCQ: cqs[1]}})
		accepted <- err
	}()
	c, err := x.manager.Dial(testContext(b), l.Addr().String(), cm.Options{PD: x.pd, QP: verbs.QPOptions{Type: kind, SendCQ: cqs[0]}})
	must(b, err)
	must(b, <-accepted)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	b.ResetTimer()
	var out [16]verbs.Completion
	remote, sges := y.at(0), []verbs.SGE{x.mr.SGE(0, size)}
	ctx := testContext(b)
	for posted, done := 0, 0; done < b.N; {
		for ; posted < b.N && posted-done < depth; posted++ {
			must(b, c.QP().PostSend(&verbs.SendWR{Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: sges, RemoteAddr: remote.Addr, RKey: remote.RKey}))
		}
		n, err := cqs[0].Wait(ctx, out[:])
		must(b, err)
		for _, c := range out[:n] {
			must(b, c.Err())
		}
		done += n
	}
}

func benchmarkBundle(b *testing.B, queuePairs, size, depth int) {
	x, y := socketPair(b)
	pair(b, x, y, queuePairs, func(c *Config) { c.QP = verbs.QPOptions{} })
	b.SetBytes(int64(size))
	b.ReportAllocs()
	b.ResetTimer()
	var out [16]Completion
	ctx := testContext(b)
	for posted, done := 0, 0; done < b.N; {
		for ; posted < b.N && posted-done < depth; posted++ {
			must(b, x.conn.Post(Request{Op: OpWrite, Local: x.buffer(0, size), Remote: y.at(0)}))
		}
		n, err := x.conn.Wait(ctx, out[:])
		must(b, err)
		for _, c := range out[:n] {
			must(b, c.Err)
		}
		done += n
	}
}
