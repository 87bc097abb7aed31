package braidotel_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/braid-rdma/braid"
	"github.com/braid-rdma/braid/braidotel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder keeps spans in memory and says when one has ended.
type recorder struct {
	*tracetest.InMemoryExporter
	ended chan struct{}
}

func (r *recorder) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := r.InMemoryExporter.ExportSpans(ctx, spans)
	r.ended <- struct{}{}
	return err
}

// await returns the spans when there are n, by their names.
func (r *recorder) await(t *testing.T, n int) map[string]tracetest.SpanStub {
	t.Helper()
	for range n {
		select {
		case <-r.ended:
		case <-time.After(time.Minute):
			t.Fatalf("%d spans, want %d", len(r.GetSpans()), n)
		}
	}
	all := map[string]tracetest.SpanStub{}
	for _, s := range r.GetSpans() {
		all[s.Name] = s
	}
	r.Reset()
	return all
}

// newContext is a context whose spans go to a recorder of its own, as those of another process would.
func newContext(t *testing.T, cfg braid.Config) (*braid.Context, *recorder, *sdktrace.TracerProvider) {
	t.Helper()
	c, err := braid.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	r := &recorder{tracetest.NewInMemoryExporter(), make(chan struct{}, 100)}
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(r))
	t.Cleanup(func() { provider.Shutdown(context.Background()) })
	c.SetTraceHooks(braidotel.Hooks(provider))
	return c, r, provider
}

// world is a server with a handler, and a client with a channel to it.
type world struct {
	client, server *recorder
	provider       *sdktrace.TracerProvider // the client's
	context        *braid.Context           // the client's
	channel        *braid.Channel
}

func newWorld(t *testing.T, cfg braid.Config, h func(trace.Tracer) braid.Handler) *world {
	t.Helper()
	server, atServer, provider := newContext(t, braid.Config{})
	l, err := server.Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() { l.Serve(ctx, h(provider.Tracer("handler"))) })
	t.Cleanup(func() { stop(); serving.Wait() })
	w := &world{server: atServer}
	w.context, w.client, w.provider = newContext(t, cfg)
	if w.channel, err = w.context.Dial(t.Context(), l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) call(ctx context.Context, payload string) error {
	m, err := w.channel.Call(ctx, []byte(payload))
	if err == nil {
		m.Release()
	}
	return err
}

// handler makes a span of its own, and fails on a wish.
func handler(tracer trace.Tracer) braid.Handler {
	return func(ctx context.Context, m *braid.Msg) ([]byte, error) {
		_, s := tracer.Start(ctx, "work")
		defer s.End()
		if string(m.Bytes()) == "fail" {
			return nil, errors.New("as you wish")
		}
		return m.Bytes(), nil
	}
}

// The spans of a call are one trace: the program's, the caller's, the handler's, and those that the
// handler makes.
func TestSpansJoin(t *testing.T) {
	w := newWorld(t, braid.Config{Trace: braid.TraceReqRsp}, handler)
	ctx, program := w.provider.Tracer("program").Start(t.Context(), "program")
	if err := w.call(ctx, "hello"); err != nil {
		t.Fatal(err)
	}
	program.End()
	at, there := w.client.await(t, 2), w.server.await(t, 2)
	call, handle, work := at["braid.call"], there["braid.handle"], there["work"]
	if call.SpanKind != trace.SpanKindClient || handle.SpanKind != trace.SpanKindServer {
		t.Errorf("kinds %v and %v", call.SpanKind, handle.SpanKind)
	}
	id := program.SpanContext().TraceID()
	for _, s := range []tracetest.SpanStub{call, handle, work} {
		if s.SpanContext.TraceID() != id {
			t.Errorf("%s is in trace %v, want %v", s.Name, s.SpanContext.TraceID(), id)
		}
	}
	if call.Parent.SpanID() != program.SpanContext().SpanID() || handle.Parent.SpanID() != call.SpanContext.SpanID() || work.Parent.SpanID() != handle.SpanContext.SpanID() {
		t.Errorf("parents: %v, %v, %v", call.Parent.SpanID(), handle.Parent.SpanID(), work.Parent.SpanID())
	}
	if !handle.Parent.IsRemote() {
		t.Error("the handler's parent is not remote")
	}
	var phases []string
	for _, e := range call.Events {
		phases = append(phases, e.Name)
		if e.Time.Before(call.StartTime) || e.Time.After(call.EndTime) {
			t.Errorf("%s at %v, the span is from %v to %v", e.Name, e.Time, call.StartTime, call.EndTime)
		}
	}
	if want := "prepare inbox window wire wait handler reply wire back deliver"; strings.Join(phases, " ") != want {
		t.Errorf("events %v, want %s", phases, want)
	}
	has := func(s tracetest.SpanStub, key string) bool {
		for _, a := range s.Attributes {
			if string(a.Key) == key {
				return true
			}
		}
		return false
	}
	if !has(call, "braid.clock.bound_ns") || !has(call, "network.peer.address") || !has(handle, "code.function.name") {
		t.Errorf("attributes: %v, %v", call.Attributes, handle.Attributes)
	}
}

// A handler's error is that of both spans.
func TestSpansOfFailures(t *testing.T) {
	w := newWorld(t, braid.Config{Trace: braid.TraceReqRsp}, handler)
	if err := w.call(t.Context(), "fail"); err == nil {
		t.Fatal("no error")
	}
	at, there := w.client.await(t, 1), w.server.await(t, 2)
	for _, s := range []tracetest.SpanStub{at["braid.call"], there["braid.handle"]} {
		if s.Status.Code != codes.Error || !strings.Contains(s.Status.Description, "as you wish") {
			t.Errorf("%s: status %+v", s.Name, s.Status)
		}
	}
}

// A call in a span that is sampled has spans, whatever the mask; others do not.
func TestSpansBySample(t *testing.T) {
	w := newWorld(t, braid.Config{Trace: braid.TraceReqRsp, TraceMask: 1<<31 - 1}, handler)
	for range 4 { // the first has the number 0
		if err := w.call(t.Context(), "hello"); err != nil {
			t.Fatal(err)
		}
	}
	ctx, program := w.provider.Tracer("program").Start(t.Context(), "program")
	if err := w.call(ctx, "hello"); err != nil {
		t.Fatal(err)
	}
	w.server.await(t, 2+3+2) // of the first and the last call, and the handler's own of the others
	program.End()
	w.client.await(t, 3)
}

// One-way messages have spans too, and who receives one can go on with its trace.
func TestSpansOfMessages(t *testing.T) {
	server, atServer, _ := newContext(t, braid.Config{})
	l, err := server.Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	client, atClient, _ := newContext(t, braid.Config{Trace: braid.TraceReqRsp})
	a, err := client.Dial(t.Context(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	b, err := l.Accept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Send(t.Context(), []byte("hello")); err != nil {
		t.Fatal(err)
	}
	m, err := b.Receive(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	span := m.SpanContext()
	m.Release()
	if err := a.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	send, receive := atClient.await(t, 1)["braid.send"], atServer.await(t, 1)["braid.receive"]
	if receive.Parent.SpanID() != send.SpanContext.SpanID() || send.SpanKind != trace.SpanKindProducer || receive.SpanKind != trace.SpanKindConsumer {
		t.Errorf("%+v, %+v", send, receive)
	}
	if id := receive.SpanContext.SpanID(); !slices.Equal(span.SpanID[:], id[:]) {
		t.Errorf("the message is in span %x, want %v", span.SpanID, id)
	}
}
