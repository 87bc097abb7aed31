package operate

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/braid-rdma/braid/internal/statfile"
	"github.com/braid-rdma/braid/udp"
	"github.com/braid-rdma/braid/verbs"
)

// BenchmarkWriteBesideOperator measures WRITEs of 64 KiB between two devices on loopback: alone, while an operator gathers evidence all the time,
// and while one has asked for it and does not read the response.
func BenchmarkWriteBesideOperator(b *testing.B) {
	dir, err := os.MkdirTemp("/dev/shm", "braid-bench-")
	if err != nil {
		b.Skip(err)
	}
	defer os.RemoveAll(dir)
	b.Setenv(statfile.DirVariable, dir)
	for _, test := range []struct {
		name string
		look func(ctx context.Context, p *Program, begin func())
	}{
		{"alone", func(ctx context.Context, _ *Program, begin func()) {
			begin()
			<-ctx.Done()
		}},
		{"gathering", func(ctx context.Context, p *Program, begin func()) {
			begin()
			for ctx.Err() == nil {
				_, _ = p.Gather(ctx, time.Second) // the end of the context ends it
			}
		}},
		{"stopped", func(ctx context.Context, p *Program, begin func()) {
			conn := p.carrier.(*socket)
			for range 1000 { // as many as the socket takes
				if _, err := conn.Write([]byte(`{"do":"device"}` + "\n")); err != nil {
					break
				}
				_ = conn.SetWriteDeadline(time.Now().Add(10 * time.Millisecond))
			}
			begin()
			<-ctx.Done()
		}},
	} {
		b.Run(test.name, func(b *testing.B) {
			x, y := benchEnd(b), benchEnd(b)
			must(b, x.qp.Connect(y.qp.Params()))
			must(b, y.qp.Connect(x.qp.Params()))
			o, err := Offer(Source{Device: x.dev})
			must(b, err)
			defer o.Close()
			p, err := Dial(b.Context(), o.Path())
			must(b, err)
			defer p.Close()
			ctx, stop := context.WithCancel(b.Context())
			begun, done := make(chan struct{}), make(chan struct{})
			go func() { defer close(done); test.look(ctx, p, func() { close(begun) }) }()
			<-begun
			b.SetBytes(1 << 16)
			x.writeMany(b, y, b.N)
			stop()
			<-done
		})
	}
}

func benchEnd(b *testing.B) *end {
	b.Helper()
	e := &end{}
	var err error
	e.dev, err = udp.Open(udp.Config{Loopback: true, Paths: 4})
	must(b, err)
	b.Cleanup(func() { e.dev.Close() })
	e.pd, err = e.dev.CreatePD()
	must(b, err)
	e.cq, err = e.dev.CreateCQ(256)
	must(b, err)
	e.mr, err = e.pd.AllocMemory(1<<16, verbs.LocalWrite|verbs.RemoteWrite)
	must(b, err)
	e.qp, err = e.pd.CreateQP(verbs.QPOptions{Type: verbs.MP, SendCQ: e.cq, SendDepth: 64})
	must(b, err)
	return e
}

// writeMany writes n times, 32 at a time.
func (e *end) writeMany(b *testing.B, peer *end, n int) {
	b.Helper()
	var completions [32]verbs.Completion
	posted, done := 0, 0
	b.ResetTimer()
	for done < n {
		for posted < n && posted-done < len(completions) {
			must(b, e.qp.PostSend(&verbs.SendWR{
				Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: []verbs.SGE{e.mr.SGE(0, 1<<16)}, RemoteAddr: peer.mr.Addr(), RKey: peer.mr.RKey(),
			}))
			posted++
		}
		k, err := e.cq.Wait(b.Context(), completions[:])
		must(b, err)
		for i := range completions[:k] {
			must(b, completions[i].Err())
		}
		done += k
	}
	b.StopTimer()
}
