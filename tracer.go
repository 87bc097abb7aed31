package braid

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// keptTraces and keptSlow are how many of the last traces, of the slowest and of the last slow
	// events a context keeps: what somebody looks through, in some 100 KiB.
	keptTraces  = 64
	keptSlowest = 16
	keptSlow    = 64
)

// TraceHooks are what a program wants to be told of its traces; each may be nil. Done, Slow and the
// End of a Span are called by whoever completes the trace, which may be the context at its work:
// they must return soon and must not wait for a channel of the context.
type TraceHooks struct {
	// Sample says whether a message is to be traced that the mask leaves out, by the context of Send
	// or Call. It is asked only where tracing is on.
	Sample func(ctx context.Context) bool
	// Start begins a span for a message: in Send and Call, in Receive, and in the goroutine of the handler, which
	// gets the context that it returns. The trace has only begun: its role, addresses and parent are known.
	Start func(ctx context.Context, t *Trace) (context.Context, Span)
	// Done gets each complete trace.
	Done func(t *Trace)
	// Slow gets each phase and each poll that took too long.
	Slow func(s *Slow)
}

// Span is that of a message in another system of tracing.
type Span interface {
	// Context is what the peer is told in req-rsp mode.
	Context() SpanContext
	// End is called once, with the complete trace.
	End(t *Trace)
}

// SetTraceHooks installs hooks in place of those that there are.
func (c *Context) SetTraceHooks(h TraceHooks) {
	c.exclusive(func() { c.tracer.change(func(s *traceSettings) { s.hooks = h }) })
}

// Traces returns the last traces of the context, the latest at the end.
func (c *Context) Traces() (all []*Trace) {
	c.tracer.keepEnded()
	c.tracer.mu.Lock()
	defer c.tracer.mu.Unlock()
	for t := range c.tracer.last.all() {
		all = append(all, (*t).clone())
	}
	return all
}

// SlowestTraces returns the traces of the context that took longest, the longest first.
func (c *Context) SlowestTraces() []*Trace {
	c.tracer.keepEnded()
	c.tracer.mu.Lock()
	defer c.tracer.mu.Unlock()
	return slices.Clone(c.tracer.slowest)
}

// SlowEvents returns the last slow events, the latest at the end.
func (c *Context) SlowEvents() (all []*Slow) {
	c.tracer.mu.Lock()
	defer c.tracer.mu.Unlock()
	for s := range c.tracer.slow.all() {
		all = append(all, *s)
	}
	return all
}

// tracer is the tracing of a context.
type tracer struct {
	settings atomic.Pointer[traceSettings] // never nil; the owner changes it
	epoch    time.Duration                 // what our clock shows at time zero of the device
	polls    pollWatch
	journal  *journal
	ended    endedTraces

	mu      sync.Mutex
	last    ring[*traced]
	slow    ring[*Slow]
	slowest []*Trace
}

// traceSettings are what decides about tracing. They do not change: others take their place.
type traceSettings struct {
	mode              TraceMode
	mask              uint64
	slow, pollingWarn time.Duration // zero: never
	hooks             TraceHooks
}

func (r *tracer) init(cfg *Config, epoch time.Duration) {
	r.epoch = epoch
	r.last, r.slow = newRing[*traced](keptTraces), newRing[*Slow](keptSlow)
	r.settings.Store(&traceSettings{})
	r.configure(cfg)
}

func (r *tracer) change(f func(*traceSettings)) {
	s := *r.settings.Load()
	f(&s)
	r.settings.Store(&s)
}

func (r *tracer) configure(cfg *Config) {
	r.change(func(s *traceSettings) {
		s.mode, s.mask = cfg.Trace, uint64(cfg.TraceMask)
		s.slow, s.pollingWarn = max(0, cfg.SlowThreshold), max(0, cfg.PollingWarn)
	})
}

// wall is a time of the device by the clock on the wall.
func (r *tracer) wall(at time.Duration) time.Time { return time.Unix(0, int64(r.epoch+at)) }

// endedTraces are complete but for what is done where nobody waits for it.
type endedTraces struct{ latest atomic.Pointer[traced] }

func (e *endedTraces) push(t *traced) {
	for {
		t.next = e.latest.Load()
		if e.latest.CompareAndSwap(t.next, t) {
			return
		}
	}
}

// keepEnded keeps the traces that have ended. In exchange the context gives back the oldest of those that it had kept, whose memory is used again
// unless somebody may keep it.
func (r *tracer) keepEnded() {
	if r.ended.latest.Load() == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var first *traced
	for t := r.ended.latest.Swap(nil); t != nil; {
		before := t.next
		t.next, first = first, t
		t = before
	}
	for t := first; t != nil; {
		next := t.next
		t.next = nil
		t.complete(r)
		if oldest := r.keep(t); oldest != nil && !oldest.escapes {
			*oldest = traced{}
			unusedTraces.Put(oldest)
		}
		t = next
	}
}

// keep puts a trace to where Traces and SlowestTraces find it, and returns the one that has no place there any more, if
// there is one. SlowestTraces has copies. The tracer is locked.
func (r *tracer) keep(t *traced) (oldest *traced) {
	place := r.last.next()
	oldest, *place = *place, t
	if n := len(r.slowest); n == keptSlowest {
		if r.slowest[n-1].Total >= t.Total {
			return oldest
		}
		r.slowest = r.slowest[:n-1]
	}
	at, _ := slices.BinarySearchFunc(r.slowest, &t.Trace, func(a, b *Trace) int { return cmp.Compare(b.Total, a.Total) })
	r.slowest = slices.Insert(r.slowest, at, t.clone())
	return oldest
}

// tellSlow keeps a slow event and tells of it.
func (r *tracer) tellSlow(s *Slow) {
	r.mu.Lock()
	*r.slow.next() = s
	r.mu.Unlock()
	if h := r.settings.Load().hooks.Slow; h != nil {
		h(s)
	}
	r.journal.slow(s)
}

// ring keeps the last of what is put into it.
type ring[T any] struct {
	places []T // as many as there is room for, and then the oldest is first
	first  int
}

func newRing[T any](room int) ring[T] { return ring[T]{places: make([]T, 0, room)} }

// next is the place for one more, in which there may be the oldest.
func (r *ring[T]) next() *T {
	if n := len(r.places); n < cap(r.places) {
		r.places = r.places[:n+1]
		return &r.places[n]
	}
	place := &r.places[r.first]
	r.first = (r.first + 1) % len(r.places)
	return place
}

// all visits them, the oldest first.
func (r *ring[T]) all() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for i := range r.places {
			if !yield(&r.places[(r.first+i)%len(r.places)]) {
				return
			}
		}
	}
}
