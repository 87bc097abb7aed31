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
func (c *Context) Traces() []*Trace {
	r := &c.tracer
	r.mu.Lock()
	kept := slices.Concat(r.last.places[r.last.first:], r.last.places[:r.last.first])
	r.mu.Unlock()
	return r.traces(kept)
}

// SlowestTraces returns the traces of the context that took longest, the longest first.
func (c *Context) SlowestTraces() []*Trace {
	r := &c.tracer
	r.mu.Lock()
	kept := slices.Clone(r.slowest)
	r.mu.Unlock()
	return r.traces(kept)
}

// traces makes traces of copies of what was kept, without the lock that messages wait for.
func (r *tracer) traces(kept []record) (all []*Trace) {
	for i := range kept {
		t := new(Trace)
		r.fill(t, &kept[i])
		all = append(all, t)
	}
	return all
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

	mu      sync.Mutex
	last    ring[record]
	slow    ring[*Slow]
	slowest []record // the slowest first
	// quickest is how long the last of as many as are kept took; less than any: there are fewer.
	quickest time.Duration
}

// traceSettings are what decides about tracing. They do not change: others take their place.
type traceSettings struct {
	mode              TraceMode
	mask              uint64
	slow, pollingWarn time.Duration // zero: never
	hooks             TraceHooks
}

func (r *tracer) init(cfg *Config, epoch time.Duration) {
	r.epoch, r.quickest = epoch, -1
	r.last, r.slow = newRing[record](keptTraces), newRing[*Slow](keptSlow)
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

// keep puts a trace to where Traces and SlowestTraces find it.
func (r *tracer) keep(x *record) {
	r.mu.Lock()
	*r.last.next() = *x
	if x.total() > r.quickest {
		r.keepSlow(x)
	}
	r.mu.Unlock()
}

// keepSlow has a trace take the place of the quickest of the slowest ones.
func (r *tracer) keepSlow(x *record) {
	if len(r.slowest) == keptSlowest {
		r.slowest = r.slowest[:keptSlowest-1]
	}
	at, _ := slices.BinarySearchFunc(r.slowest, x.total(), func(y record, total time.Duration) int { return cmp.Compare(total, y.total()) })
	r.slowest = slices.Insert(r.slowest, at, *x)
	if n := len(r.slowest); n == keptSlowest {
		r.quickest = r.slowest[n-1].total()
	}
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
