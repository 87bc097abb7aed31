package braid

import (
	"context"
	"errors"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/braid-rdma/braid/internal/session"
	"github.com/braid-rdma/braid/verbs"
)

// phasesOf lists the phases of a trace.
func phasesOf(tr *Trace) string {
	var all []string
	for _, s := range tr.Segments {
		all = append(all, s.Phase.String())
	}
	return strings.Join(all, ", ")
}

// wantPhases checks the phases of a trace, and that they are all of its time.
func wantPhases(t *testing.T, tr *Trace, want string) {
	t.Helper()
	if got := phasesOf(tr); got != want {
		t.Errorf("%s: phases %s, want %s", tr.Role, got, want)
	}
	var sum time.Duration
	for _, s := range tr.Segments {
		if s.Took < 0 {
			t.Errorf("%s: %v took %v", tr.Role, s.Phase, s.Took)
		}
		sum += s.Took
	}
	if sum != tr.Total {
		t.Errorf("%s: the phases take %v together, the message %v", tr.Role, sum, tr.Total)
	}
}

// tracedPair connects two contexts and returns the channels and what the second is told of its traces.
func tracedPair(t *testing.T, client, server Config) (a, b *Channel, done chan *Trace) {
	t.Helper()
	c := open(t, server)
	done = make(chan *Trace, 100)
	c.SetTraceHooks(TraceHooks{Done: func(tr *Trace) { done <- tr }})
	l := listen(t, c)
	a, err := open(t, client).Dial(soon(t), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if b, err = l.Accept(soon(t)); err != nil {
		t.Fatal(err)
	}
	return a, b, done
}

// serveOn runs a handler on a channel until the test ends.
func serveOn(t *testing.T, ch *Channel, h Handler) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan struct{})
	go func() {
		ch.Serve(ctx, h)
		close(served)
	}()
	t.Cleanup(func() { stop(); <-served })
}

const callPhases = "prepare, inbox, window, wire, wait, handler, reply, wire back, deliver"

// The phases of a call are all of its time, and both ends tell the same of those at the peer.
func TestTraceCall(t *testing.T) {
	const work = 2 * time.Millisecond
	a, b, done := tracedPair(t, Config{}, Config{})
	serveOn(t, b, func(_ context.Context, m *Msg) ([]byte, error) {
		time.Sleep(work)
		return make([]byte, m.Bytes()[0]), nil
	})
	began := time.Now()
	m, tr, err := a.TraceCall(soon(t), []byte{100, 2, 3})
	took := time.Since(began)
	if err != nil {
		t.Fatal(err)
	}
	m.Release()
	t.Logf("\n%v", tr)
	wantPhases(t, tr, callPhases)
	if tr.Total > took || tr.Took(PhaseHandler) < work || tr.Role != RoleCaller || tr.Mode != TraceReqRsp {
		t.Errorf("the call took %v: %+v", took, tr)
	}
	if tr.Bytes != 3 || tr.ReplyBytes != 100 || tr.Local != a.LocalAddr() || tr.Remote != a.RemoteAddr() || tr.Start.Before(began.Add(-time.Second)) {
		t.Errorf("%+v", tr)
	}
	served := <-done
	t.Logf("\n%v", served)
	wantPhases(t, served, "wait, handler, reply")
	if served.Role != RoleHandler || served.Number != tr.Number || served.Bytes != 3 || served.ReplyBytes != 100 || !strings.Contains(served.Place, "TestTraceCall") {
		t.Errorf("%+v", served)
	}
	for _, p := range []Phase{PhaseWait, PhaseHandler, PhaseReply} {
		if served.Took(p) != tr.Took(p) {
			t.Errorf("%v: %v here, %v there", p, tr.Took(p), served.Took(p))
		}
	}
	// From the second call on the caller can tell the peer how long the request was on its way.
	if m, tr, err = a.TraceCall(soon(t), []byte{1}); err != nil {
		t.Fatal(err)
	}
	m.Release()
	served = <-done
	wantPhases(t, served, "wire, wait, handler, reply")
	if got, want := served.Took(PhaseWire), tr.Took(PhaseWire); (got - want).Abs() > tr.Clock.Bound+served.Clock.Bound {
		t.Errorf("the wire: %v at the peer, %v at the caller, ± %v", got, want, tr.Clock.Bound+served.Clock.Bound)
	}
}

// Large messages are fetched, which is a phase of its own, and failures have traces too.
func TestTraceLarge(t *testing.T) {
	a, b, done := tracedPair(t, Config{}, Config{})
	serveOn(t, b, func(_ context.Context, m *Msg) ([]byte, error) {
		if m.Len() == 0 {
			return nil, errors.New("nothing to do")
		}
		return m.Bytes(), nil
	})
	m, tr, err := a.TraceCall(soon(t), payload(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	m.Release()
	t.Logf("\n%v", tr)
	wantPhases(t, tr, "prepare, inbox, window, wire, fetch, wait, handler, reply, wire back, fetch back, deliver")
	wantPhases(t, <-done, "fetch, wait, handler, reply")
	if tr.Took(PhaseFetch) == 0 || tr.Took(PhaseFetchBack) == 0 {
		t.Errorf("fetched in no time: %v", tr)
	}
	if _, tr, err = a.TraceCall(soon(t), nil); err == nil || tr.Err != err.Error() {
		t.Errorf("a failure: %v, the trace has %q", err, tr.Err)
	}
	wantPhases(t, tr, callPhases)
	if served := <-done; served.Err != "nothing to do" {
		t.Errorf("the handler's error: %q", served.Err)
	}
}

// A message that Receive takes and Reply responds to is traced as one that a handler has.
func TestTraceReply(t *testing.T) {
	a, b, done := tracedPair(t, Config{}, Config{})
	go func() {
		m, err := b.Receive(soon(t))
		if err == nil {
			m.Reply(soon(t), []byte("yes"))
			m.Release()
		}
	}()
	m, tr, err := a.TraceCall(soon(t), []byte("?"))
	if err != nil {
		t.Fatal(err)
	}
	m.Release()
	wantPhases(t, tr, callPhases)
	wantPhases(t, <-done, "wait, handler, reply")
}

// A reply that is given up before it was sent can be made again, and so is its trace.
func TestTraceReplyAgain(t *testing.T) {
	a, b, done := tracedPair(t, Config{}, Config{})
	replied := make(chan error, 1)
	go func() {
		m, err := b.Receive(soon(t))
		if err != nil {
			replied <- err
			return
		}
		defer m.Release()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		// While the context is held nothing is sent, so that the first reply is withdrawn.
		held, release := make(chan struct{}), make(chan struct{})
		go b.context.exclusive(func() { close(held); <-release })
		<-held
		go func() {
			for !m.replied.Load() {
				runtime.Gosched()
			}
			close(release)
		}()
		if err := m.Reply(ctx, []byte("no")); err == nil {
			replied <- nil // it was quicker
			return
		}
		replied <- m.Reply(soon(t), []byte("yes"))
	}()
	m, tr, err := a.TraceCall(soon(t), []byte("?"))
	if err != nil {
		t.Fatal(err)
	}
	m.Release()
	if err := <-replied; err != nil {
		t.Fatal(err)
	}
	wantPhases(t, tr, callPhases)
	if there := <-done; there.Err != "" || there.Took(PhaseHandler) != tr.Took(PhaseHandler) {
		t.Errorf("%v", there)
	}
}

// In bare-data mode nothing is added to messages, so that a peer that does not trace knows of nothing.
func TestTraceBare(t *testing.T) {
	a, b, done := tracedPair(t, Config{Trace: TraceBare}, Config{})
	serveOn(t, b, func(_ context.Context, m *Msg) ([]byte, error) {
		if m.in.Trace != nil {
			t.Error("the message has an extension")
		}
		return nil, nil
	})
	call(t, a)
	wantPhases(t, a.context.Traces()[0], "prepare, inbox, window, remote, deliver")
	if err := a.Send(soon(t), []byte("one way")); err != nil {
		t.Fatal(err)
	}
	if err := a.Flush(soon(t)); err != nil {
		t.Fatal(err)
	}
	wantPhases(t, a.context.Traces()[1], "prepare, inbox, window, ack")
	if _, ok := a.Clock(); ok || len(done) > 0 {
		t.Errorf("the peer has %d traces", len(done))
	}
	if err := b.context.Set("trace", "bare-data"); err != nil {
		t.Fatal(err)
	}
	call(t, a)
	wantPhases(t, <-done, "wait, handler, reply")
}

// call makes a call.
func call(t testing.TB, ch *Channel) {
	t.Helper()
	m, err := ch.Call(soon(t), []byte("a call"))
	if err != nil {
		t.Fatal(err)
	}
	m.Release()
}

// One-way messages are traced as well, and both ends know their numbers.
func TestTraceOneway(t *testing.T) {
	a, b, done := tracedPair(t, Config{Trace: TraceReqRsp}, Config{})
	for _, n := range []int{10, 1 << 20} {
		sent := make(chan error, 1)
		go func() { sent <- a.Send(soon(t), payload(n)) }()
		m, err := b.Receive(soon(t))
		if err != nil || m.Len() != n {
			t.Fatalf("%v", err)
		}
		m.Release()
		if err := errors.Join(<-sent, a.Flush(soon(t))); err != nil {
			t.Fatal(err)
		}
		all := a.context.Traces()
		at, there := all[len(all)-1], <-done
		wantPhases(t, at, "prepare, inbox, window, ack")
		if n > b.small {
			wantPhases(t, there, "fetch, wait")
		} else {
			wantPhases(t, there, "wait")
		}
		if at.Role != RoleSender || there.Role != RoleReceiver || at.Number == 0 || at.Number != there.Number || there.Bytes != n {
			t.Errorf("%+v at the sender, %+v at the receiver", at, there)
		}
	}
}

// A call that is given up, one that was never sent and one of a channel that has ended have traces too.
func TestTraceGivenUp(t *testing.T) {
	a, b, _ := tracedPair(t, Config{Window: minWindow}, Config{Window: minWindow})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		if _, err := b.Receive(soon(t)); err == nil {
			cancel()
		}
	}()
	_, tr, err := a.TraceCall(ctx, []byte("nobody replies"))
	if !errors.Is(err, context.Canceled) || tr.Err != err.Error() {
		t.Errorf("given up: %v, the trace has %q", err, tr.Err)
	}
	wantPhases(t, tr, "prepare, inbox, window, remote")
	for range minWindow {
		if err := a.Send(soon(t), []byte("fills the window")); err != nil {
			t.Fatal(err)
		}
	}
	if _, tr, err = a.TraceCall(ctx, []byte("waits")); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	wantPhases(t, tr, "prepare, inbox, window")
	a.end(ErrClosed)
	if _, tr, err = a.TraceCall(t.Context(), nil); !errors.Is(err, ErrClosed) || tr.Err != err.Error() || tr.Total != 0 {
		t.Errorf("after the end: %v, %+v", err, tr)
	}
}

// Times that cannot be true are not used, and nothing else happens.
func TestTraceLies(t *testing.T) {
	a, b, _ := tracedPair(t, Config{}, Config{})
	lies := []func(x *session.Trace){
		func(x *session.Trace) { x.Arrived = math.MaxInt64 },
		func(x *session.Trace) { x.Arrived = math.MinInt64 },
		func(x *session.Trace) { x.Started = x.Arrived - 1 },
		func(x *session.Trace) { x.Arrived -= time.Hour }, // longer there than the caller waited
	}
	next := 0
	serveOn(t, b, func(_ context.Context, m *Msg) ([]byte, error) {
		lies[next](&m.traced.extension)
		next++
		return nil, nil
	})
	for i := range lies {
		m, tr, err := a.TraceCall(soon(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		m.Release()
		wantPhases(t, tr, "prepare, inbox, window, remote, deliver")
		if clock, ok := a.Clock(); ok || tr.Clock.Bound != 0 {
			t.Errorf("lie %d is believed: %v", i, clock)
		}
	}
}

// A caller that lies about its clock has its message delivered, and no more.
func TestTraceLyingCaller(t *testing.T) {
	c := open(t, Config{})
	l := listen(t, c)
	p := newLiar(t, l.Addr().String(), hello{small: 4096, maxMessage: 1 << 30, window: 4})
	victim, err := l.Accept(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	extension := []byte(strings.Repeat("\x7f", 56)) // in the far future, by a clock far behind
	frame := headed(1, 2, 64, 9, append(extension, "hello"...)...)
	if err := p.qp.PostSend(&verbs.SendWR{Op: verbs.OpSendImm, Imm: 1<<29 | 4<<16, Inline: frame}); err != nil {
		t.Fatal(err)
	}
	m, err := victim.Receive(soon(t))
	if err != nil || string(m.Bytes()) != "hello" {
		t.Fatalf("%v", err)
	}
	m.Release()
	wantPhases(t, c.Traces()[0], "wait")
}

// The mask and the mode can change at any time.
func TestTraceMask(t *testing.T) {
	a, b, done := tracedPair(t, Config{Trace: TraceReqRsp, TraceMask: 3}, Config{})
	serveOn(t, b, echo)
	count := func(calls, want int) {
		t.Helper()
		before := len(a.context.Traces())
		for range calls {
			call(t, a)
		}
		if got := len(a.context.Traces()) - before; got != want {
			t.Errorf("%d of %d calls are traced, want %d", got, calls, want)
		}
		for range want {
			<-done // the peer traces what the caller does
		}
	}
	set := func(name, value string) {
		t.Helper()
		if err := a.context.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	count(16, 4)
	set("trace_sample_mask", "0")
	count(5, 5)
	set("trace", "off")
	count(5, 0)
	set("trace", "req-rsp")
	set("trace_sample_mask", "1")
	count(6, 3)
	for name, value := range map[string]string{"trace": "sometimes", "trace_sample_mask": "-1", "slow_threshold": "3", "polling_warn": "soon"} {
		if err := a.context.Set(name, value); !errors.Is(err, ErrConfig) {
			t.Errorf("%s = %s: %v", name, value, err)
		}
	}
	// A program may want more than the mask lets through.
	type wanted struct{}
	a.context.SetTraceHooks(TraceHooks{Sample: func(ctx context.Context) bool { return ctx.Value(wanted{}) != nil }})
	set("trace_sample_mask", "1073741823")
	before := len(a.context.Traces())
	call(t, a)
	m, err := a.Call(context.WithValue(soon(t), wanted{}, true), nil)
	if err != nil {
		t.Fatal(err)
	}
	m.Release()
	if got := len(a.context.Traces()) - before; got != 1 {
		t.Errorf("%d traces, want the one that the program wants", got)
	}
}

// What is not traced costs no memory.
func TestTraceOffAllocatesNothing(t *testing.T) {
	a, b, _ := tracedPair(t, Config{}, Config{})
	serveOn(t, b, echo)
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() {
		if a.sample(ctx, asCaller).mode != TraceOff {
			t.Error("a message is traced")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if err := a.context.Set("trace_sample_mask", "1073741823"); err != nil {
		t.Fatal(err)
	}
	if err := a.context.Set("trace", "req-rsp"); err != nil {
		t.Fatal(err)
	}
	call(t, a) // number 0
	if n := testing.AllocsPerRun(100, func() { a.sample(ctx, asCaller) }); n != 0 {
		t.Errorf("%v allocations of messages that the mask leaves out", n)
	}
}

// What a context keeps is bounded: the last ones, and the slowest.
func TestTracesKept(t *testing.T) {
	c := open(t, Config{})
	const n = 3 * keptTraces
	for i := range n {
		total := time.Duration(i*7919%n) * time.Millisecond // in no order
		c.tracer.keep(&record{number: uint32(i), last: total})
		c.tracer.tellSlow(&Slow{Took: total})
	}
	last, slowest := c.Traces(), c.SlowestTraces()
	if len(last) != keptTraces || last[0].Number != n-keptTraces || last[keptTraces-1].Number != n-1 {
		t.Errorf("%d traces, the last is %d", len(last), last[len(last)-1].Number)
	}
	if len(slowest) != keptSlowest || len(c.SlowEvents()) != keptSlow {
		t.Fatalf("%d and %d are kept", len(slowest), len(c.SlowEvents()))
	}
	for i, tr := range slowest {
		if want := time.Duration(n-1-i) * time.Millisecond; tr.Total != want {
			t.Errorf("the slowest but %d: %v, want %v", i, tr.Total, want)
		}
	}
}

// A trace names the handler that the message had: none if Receive returned it, whatever handler the channel has had.
func TestTracePlace(t *testing.T) {
	a, b := pair(t, Config{Trace: TraceBare})
	stop := servedBy(context.Background(), t, b, echo)
	call(t, a)
	stop()
	if err := a.Send(soon(t), []byte("x")); err != nil {
		t.Fatal(err)
	}
	m, err := b.Receive(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	m.Release()
	traces := b.Context().Traces()
	if first := traces[0]; first.Role != RoleHandler || first.Place != placeOf(echo) {
		t.Errorf("a call was with %q: %v", first.Place, first)
	}
	if last := traces[len(traces)-1]; last.Role != RoleReceiver || last.Place != "" {
		t.Errorf("what Receive returned was with %q: %v", last.Place, last)
	}
}

// A channel gets another handler while messages are with the one it has. The race detector tells what is wrong.
func TestTraceWhileHandlersChange(t *testing.T) {
	a, b := pair(t, Config{Trace: TraceBare})
	servedBy(context.Background(), t, b, echo)
	ctx, stop := context.WithCancel(soon(t))
	var changing sync.WaitGroup
	changing.Go(func() {
		for ctx.Err() == nil {
			b.setHandler(ctx, echo)
		}
	})
	for range 500 {
		call(t, a)
	}
	stop()
	changing.Wait()
}
