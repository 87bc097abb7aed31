package braid

import (
	"context"
	"errors"
	"testing"
)

// spanOf is a span that ends.
type spanOf struct {
	place SpanContext
	ended chan *Trace
}

func (s spanOf) Context() SpanContext { return s.place }
func (s spanOf) End(t *Trace)         { s.ended <- t }

// The memory of a traced message is used again, and what was another's is not in it.
func TestTraceMemoryIsClean(t *testing.T) {
	a, b, done := tracedPair(t, Config{Trace: TraceReqRsp}, Config{})
	serveOn(t, b, func(_ context.Context, m *Msg) ([]byte, error) {
		if m.Len() > 0 {
			return nil, errors.New("too much")
		}
		return nil, nil
	})
	span := spanOf{SpanContext{TraceID: [16]byte{1}, SpanID: [8]byte{2}, Flags: 1}, make(chan *Trace, 1)}
	a.context.SetTraceHooks(TraceHooks{Start: func(ctx context.Context, _ *Trace) (context.Context, Span) { return ctx, span }})
	if _, err := a.Call(soon(t), []byte("a payload")); err == nil {
		t.Fatal("the handler's error is lost")
	}
	if ended, there := <-span.ended, <-done; ended.Span != span.place || ended.Err == "" || there.Parent != span.place || there.Err == "" {
		t.Errorf("with a span: %+v at the caller, %+v at the handler", ended, there)
	}
	a.context.SetTraceHooks(TraceHooks{})
	for range keptTraces {
		m, err := a.Call(soon(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		m.Release()
		<-done // the handler's is kept
	}
	for _, ch := range []*Channel{a, b} {
		all := ch.context.Traces()
		for _, tr := range all {
			if tr.Span != (SpanContext{}) || tr.Parent != (SpanContext{}) || tr.Err != "" || tr.Bytes > 0 || tr.ReplyBytes > 0 {
				t.Fatalf("what another had: %+v", tr)
			}
		}
		if len(all) != keptTraces || all[0].Number != 2 || all[keptTraces-1].Number != keptTraces+1 {
			t.Errorf("%d traces, the first of call %d", len(all), all[0].Number)
		}
	}
}

// Once there is memory for the messages that are on their way, tracing takes none.
func TestTraceAllocatesNothing(t *testing.T) {
	a, _ := pair(t, Config{})
	o := newOutgoing()
	o.channel = a
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() {
		o.traceFrom(ctx, sampling{part: asCaller, mode: TraceReqRsp, begun: a.context.now()})
		o.traced.returned(o, nil)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
