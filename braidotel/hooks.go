// Package braidotel makes OpenTelemetry spans of the traces of package braid.
//
//	c, err := braid.Open(braid.Config{Trace: braid.TraceReqRsp, TraceMask: 1023})
//	c.SetTraceHooks(braidotel.Hooks(otel.GetTracerProvider()))
//
// A call has a span at its caller and one around its handler, a child of the caller's also on
// another machine: the caller's place in the trace travels in the header of the message, as W3C
// Trace Context has it. The handler's context holds its span. The phases of a message are events of
// its span.
//
// Which messages have spans is the caller's decision: those that the mask of its context
// samples, and those that are sent in a span that is sampled.
package braidotel

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/braid-rdma/braid"
)

const scope = "github.com/braid-rdma/braid/braidotel"

// Hooks returns what Context.SetTraceHooks takes. Its Done and Slow are free.
func Hooks(provider trace.TracerProvider) braid.TraceHooks {
	tracer := provider.Tracer(scope)
	return braid.TraceHooks{
		Sample: func(ctx context.Context) bool { return trace.SpanContextFromContext(ctx).IsSampled() },
		Start: func(ctx context.Context, t *braid.Trace) (context.Context, braid.Span) {
			ctx, s := start(ctx, tracer, t)
			return ctx, span{s}
		},
	}
}

// roles are what spans are called, and their kinds, by the part that this side has in the message.
var roles = map[braid.TraceRole]struct {
	name string
	kind trace.SpanKind
}{
	braid.RoleCaller:   {"braid.call", trace.SpanKindClient},
	braid.RoleHandler:  {"braid.handle", trace.SpanKindServer},
	braid.RoleSender:   {"braid.send", trace.SpanKindProducer},
	braid.RoleReceiver: {"braid.receive", trace.SpanKindConsumer},
}

func start(ctx context.Context, tracer trace.Tracer, t *braid.Trace) (context.Context, trace.Span) {
	if t.Parent.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: t.Parent.TraceID, SpanID: t.Parent.SpanID, TraceFlags: trace.TraceFlags(t.Parent.Flags), Remote: true,
		}))
	}
	role := roles[t.Role]
	return tracer.Start(ctx, role.name, trace.WithSpanKind(role.kind), trace.WithTimestamp(t.Start), trace.WithAttributes(
		attribute.String("network.local.address", t.Local.Addr().String()),
		attribute.Int("network.local.port", int(t.Local.Port())),
		attribute.String("network.peer.address", t.Remote.Addr().String()),
		attribute.Int("network.peer.port", int(t.Remote.Port())),
	))
}

// span is a braid.Span.
type span struct{ trace.Span }

// Context implements braid.Span.
func (s span) Context() braid.SpanContext {
	c := s.SpanContext()
	return braid.SpanContext{TraceID: c.TraceID(), SpanID: c.SpanID(), Flags: byte(c.TraceFlags())}
}

// End implements braid.Span.
func (s span) End(t *braid.Trace) {
	end := t.Start.Add(t.Total)
	if s.IsRecording() {
		s.describe(t)
	}
	s.Span.End(trace.WithTimestamp(end))
}

// describe adds what is known of a message in the end.
func (s span) describe(t *braid.Trace) {
	s.SetAttributes(
		attribute.String("braid.trace.mode", t.Mode.String()),
		attribute.Int64("braid.message.number", int64(t.Number)),
		attribute.Int("braid.message.bytes", t.Bytes),
		attribute.Int("braid.reply.bytes", t.ReplyBytes),
	)
	if t.Place != "" {
		s.SetAttributes(attribute.String("code.function.name", t.Place))
	}
	if t.Clock.Bound > 0 {
		s.SetAttributes(
			attribute.Int64("braid.clock.offset_ns", t.Clock.Offset.Nanoseconds()),
			attribute.Int64("braid.clock.bound_ns", t.Clock.Bound.Nanoseconds()),
		)
	}
	if t.Err != "" {
		s.SetStatus(codes.Error, t.Err)
	}
	var passed time.Duration
	for _, g := range t.Segments {
		s.AddEvent(g.Phase.String(), trace.WithTimestamp(t.Start.Add(passed)),
			trace.WithAttributes(attribute.Int64("braid.phase.ns", g.Took.Nanoseconds())))
		passed += g.Took
	}
}
