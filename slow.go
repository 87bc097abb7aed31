package braid

import (
	"fmt"
	"net/netip"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
)

// Slow is a phase of a traced message that took longer than Config.SlowThreshold, or a time longer than
// Config.PollingWarn in which the device was not polled (X-RDMA §VI-A, methods II and III).
type Slow struct {
	At        time.Time     `json:"at"` // when it was over
	Phase     Phase         `json:"phase"`
	Took      time.Duration `json:"ns"`
	Threshold time.Duration `json:"threshold_ns"`
	// Place is where the time was spent: a function of the program with its file and line, or else which
	// end of the channel, or the network between them.
	Place string `json:"place"`
	// Stack is what kept a handler, if it was seen while it did.
	Stack  string         `json:"stack,omitempty"`
	Remote netip.AddrPort `json:"remote,omitzero"`
	Trace  *Trace         `json:"trace,omitempty"` // nil of a poll
}

// String returns the event as a line, and the stack below it.
func (s *Slow) String() string {
	text := fmt.Sprintf("slow %s: %v, more than %v, in %s", s.Phase, s.Took, s.Threshold, s.Place)
	switch {
	case s.Remote.IsValid() && s.Trace == nil:
		text += fmt.Sprintf(" (a message from %v)", s.Remote)
	case s.Trace != nil:
		text += fmt.Sprintf(" (%s of %s)", s.Trace.Role, s.Trace.subject())
	}
	if s.Stack != "" {
		text += "\n" + s.Stack
	}
	return text
}

// findSlow tells of the segments of a trace that took too long.
func (r *tracer) findSlow(t *Trace, threshold time.Duration) {
	end := t.Start
	for _, g := range t.Segments {
		if end = end.Add(g.Took); g.Took > threshold {
			r.tellSlow(&Slow{At: end, Phase: g.Phase, Took: g.Took, Threshold: threshold, Place: t.place(g.Phase), Remote: t.Remote, Trace: t})
		}
	}
}

// place says where a phase takes place. The caller's own phases are told while it is still in Call.
func (t *Trace) place(p Phase) string {
	switch p {
	case PhaseWire, PhaseWireBack, PhaseRemote, PhaseAck:
		return fmt.Sprintf("the network or the peer, between %v and %v", t.Local, t.Remote)
	case PhaseFetch, PhaseWait, PhaseHandler, PhaseReply:
		if t.Role == RoleCaller {
			return fmt.Sprintf("the peer %v", t.Remote)
		}
		if t.Place != "" {
			return t.Place
		}
		return fmt.Sprintf("the program of %v", t.Local)
	}
	if t.Role == RoleCaller {
		return callSite()
	}
	return fmt.Sprintf("the context of %v", t.Local)
}

// ownPackage is the prefix of the names of this package's functions.
var ownPackage = reflect.TypeFor[Context]().PkgPath() + "."

// callSite is where the program called this package.
func callSite() string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, ownPackage) {
			return fmt.Sprintf("%s (%s:%d)", f.Function, f.File, f.Line)
		}
		if !more {
			return "the program"
		}
	}
}

// placeOf is where a handler is in the program.
func placeOf(h Handler) string {
	if h == nil {
		return ""
	}
	f := runtime.FuncForPC(reflect.ValueOf(h).Pointer())
	file, line := f.FileLine(f.Entry())
	return fmt.Sprintf("%s (%s:%d)", f.Name(), file, line)
}

// pollWatch measures how long the leader is away from the device: the time between two polls, without
// the time that a poll itself takes, in which it may sleep (X-RDMA §VI-A, method II). It belongs to
// the leader, but for what the timer looks at while a handler keeps the leader.
type pollWatch struct {
	since   time.Duration // the end of the last poll; zero: it is not measured
	longest time.Duration // of the handlers since
	place   string        // of that one
	stack   string
	remote  netip.AddrPort

	timer     *time.Timer         // runs out when a handler has taken too long
	handling  atomic.Pointer[Msg] // what that handler has
	sample    atomic.Pointer[stackSample]
	sampledAt atomic.Int64
}

// stackSample is what a goroutine did when it kept the leader's place.
type stackSample struct {
	message *Msg
	stack   string
}

// polled begins to measure: a poll is over.
func (w *pollWatch) polled(c *Context) {
	if c.tracer.settings.Load().pollingWarn > 0 {
		w.begin(c.now())
	}
}

func (w *pollWatch) begin(now time.Duration) {
	w.since, w.longest, w.place, w.stack, w.remote = now, 0, "the work of the context", "", netip.AddrPort{}
}

// polls is called before the next poll, and when the leader leaves.
func (w *pollWatch) polls(c *Context) {
	if w.since != 0 {
		w.measure(c)
	}
}

func (w *pollWatch) measure(c *Context) {
	now, warn := c.now(), c.tracer.settings.Load().pollingWarn
	if took := now - w.since; took > warn && warn > 0 {
		c.tracer.tellSlow(&Slow{At: c.tracer.wall(now), Phase: PhasePoll, Took: took, Threshold: warn, Place: w.place, Stack: w.stack, Remote: w.remote})
	}
	w.since = 0
}

// handle runs a handler in the leader's goroutine and returns what is then to be done, as Msg.handle does.
func (w *pollWatch) handle(c *Context, m *Msg, began time.Duration) (after *task, over time.Duration) {
	if w.since == 0 {
		return m.handle(began)
	}
	w.handling.Store(m)
	if w.timer == nil {
		w.timer = time.AfterFunc(c.tracer.settings.Load().pollingWarn, func() { w.lookAtLeader(c) })
	} else {
		w.timer.Reset(c.tracer.settings.Load().pollingWarn)
	}
	after, over = m.handle(began)
	w.timer.Stop()
	w.handling.Store(nil)
	took := c.now() - began
	if took < w.longest {
		return after, over
	}
	w.longest, w.place, w.stack, w.remote = took, m.handlerPlace(), "", m.channel.RemoteAddr()
	if s := w.sample.Swap(nil); s != nil && s.message == m {
		w.stack = s.stack
	}
	return after, over
}

const (
	// sampleEvery is the least time between two samples: each stops the program for a moment.
	sampleEvery = time.Second
	// maxStacks is how much of the stacks of all goroutines is looked at.
	maxStacks = 1 << 20
)

// lookAtLeader is the timer's goroutine: the leader's handler does not return, so what does it do?
func (w *pollWatch) lookAtLeader(c *Context) {
	m, now, last := w.handling.Load(), int64(c.now()), w.sampledAt.Load()
	if m == nil || last != 0 && now-last < int64(sampleEvery) || !w.sampledAt.CompareAndSwap(last, now) {
		return
	}
	all := make([]byte, maxStacks)
	all = all[:runtime.Stack(all, true)]
	if stack := stackOf(string(all), m); stack != "" {
		w.sample.Store(&stackSample{m, stack})
	}
}

// stackOf finds the goroutine that handles a message, and returns what the handler does.
func stackOf(all string, m *Msg) string {
	mine := fmt.Sprintf("(*Msg).handle(%p", m)
	for g := range strings.SplitSeq(all, "\n\n") {
		if inner, _, ok := strings.Cut(g, mine); ok {
			return strings.TrimSuffix(inner, ownPackage)
		}
	}
	return ""
}
