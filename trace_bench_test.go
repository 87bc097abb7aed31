package braid

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/braid-rdma/braid/internal/session"
)

// BenchmarkTracing makes calls of 64 bytes with each way of tracing in turn, some hundred at a time, so that all
// see the same machine, and reports the median of each and its ratio to tracing off. X-RDMA §VII-A has 2 to 4 %
// for req-rsp mode.
func BenchmarkTracing(b *testing.B) {
	ways := []struct {
		name string
		cfg  Config
	}{
		{"off", Config{}},
		{"bare", Config{Trace: TraceBare}},
		{"reqrsp", Config{Trace: TraceReqRsp}},
		{"sampled", Config{Trace: TraceReqRsp, TraceMask: 63}},
		{"polling", Config{PollingWarn: time.Second}},
	}
	server, client := open(b, Config{}), open(b, Config{})
	ch := connectEcho(b, server, client)
	use := func(cfg Config) {
		for _, c := range []*Context{server, client} {
			if err := c.Update(func(now *Config) {
				now.Trace, now.TraceMask, now.PollingWarn = cfg.Trace, cfg.TraceMask, cfg.PollingWarn
			}); err != nil {
				b.Fatal(err)
			}
		}
	}
	took := make([][]time.Duration, len(ways))
	const batch = 200
	request, ctx := make([]byte, 64), context.Background()
	for round := 0; b.Loop(); round++ {
		way := round / batch % len(ways)
		if round%batch == 0 {
			use(ways[way].cfg)
		}
		began := time.Now()
		m, err := ch.Call(ctx, request)
		if err != nil {
			b.Fatal(err)
		}
		m.Release()
		took[way] = append(took[way], time.Since(began))
	}
	for way, all := range took {
		if len(all) == 0 {
			return // too few calls to compare
		}
		slices.Sort(all)
		median := all[len(all)/2]
		b.ReportMetric(float64(median.Nanoseconds()), ways[way].name+"-ns")
		if way > 0 {
			b.ReportMetric(float64(median)/float64(took[0][len(took[0])/2]), ways[way].name+"/off")
		}
	}
}

// connectEcho serves an echo at one context and returns a channel to it from another.
func connectEcho(b *testing.B, server, client *Context) *Channel {
	b.Helper()
	l := listen(b, server)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan struct{})
	go func() {
		l.Serve(ctx, echo)
		close(served)
	}()
	b.Cleanup(func() { stop(); <-served })
	ch, err := client.Dial(soon(b), l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	return ch
}

// BenchmarkTraceRecord is the work of tracing a call at both ends, without the call.
func BenchmarkTraceRecord(b *testing.B) {
	server, client := open(b, Config{}), open(b, Config{})
	ch := connectEcho(b, server, client)
	ctx, c := context.Background(), ch.context
	b.ReportAllocs()
	for b.Loop() {
		o := &outgoing{channel: ch}
		o.Kind = session.Request
		o.traceFrom(ctx, sampling{part: asCaller, mode: TraceReqRsp, begun: c.now()})
		t := o.traced
		now := c.now() // which the context reads also without tracing
		t.accepted(o, now)
		o.SentAt = now

		request := &Msg{channel: ch, arrived: now, in: session.In{Kind: session.Request, Trace: &session.Trace{Bound: -1}}}
		ch.traceArrival(request, c.tracer.settings.Load())
		request.traced.fetched(request)
		request.traced.enter(ctx, request, c.now())
		request.traced.left(nil)
		response := &outgoing{channel: ch}
		response.Kind = session.Response
		request.traced.attach(response)
		response.SentAt = c.now()
		response.Trace.Posted = c.tracer.epoch + response.SentAt
		request.traced.posted(response)
		c.endReplied()

		t.responded(o, &Msg{channel: ch, arrived: c.now(), in: session.In{Kind: session.Response, Trace: response.Trace}})
		t.returned(o, nil)
	}
}
