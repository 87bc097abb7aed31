package transport

import (
	"math/rand/v2"
	"testing"
)

// traceCount is a tracer that only counts.
type traceCount [numTraceKinds]int

func (c *traceCount) Trace(_ Time, e TraceEvent) { c[e.Kind]++ }

func TestTraceNamesAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for k := range numTraceKinds {
		seen[k.String()] = true
	}
	for r := range numReasons {
		seen[r.String()] = true
	}
	if seen[""] || len(seen) != int(numTraceKinds)+int(numReasons) {
		t.Errorf("%d names for %d kinds and %d reasons: %v", len(seen), numTraceKinds, numReasons, seen)
	}
}

// What is told only when it changed is told once.
func TestTraceTellsNewsOnce(t *testing.T) {
	var count traceCount
	cfg := rcConfig(newTestMemory())
	cfg.Trace = &count
	b, err := newBase(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		b.traceWindow(1, 16.2, 0, 3, 100)
		b.traceWindow(1, 16.9, 0, 3, 100)
		b.traceBlocked(1, ReasonWindow)
		b.traceState(1)
	}
	b.state = Err
	b.traceState(1)
	b.traceWindow(1, 17, 0, 3, 100)
	b.tracePath(1, TraceProbed, 3)
	b.traceSpurious(1, 7, 3)
	b.HandleBackpressure(1)
	b.HandleBackpressure(2)
	b.traceBlocked(1, ReasonClosed)
	want := traceCount{TraceWindow: 2, TraceBlocked: 3, TraceState: 1, TraceProbed: 1, TraceSpurious: 1}
	if count != want {
		t.Errorf("got %v, want %v", count, want)
	}
}

// A tracer costs no allocation, and its events are those of the counters.
func TestTraceRCDoesNotAllocate(t *testing.T) {
	var count traceCount
	attr := rcDefaults()
	mem := newTestMemory()
	cfg := rcConfig(mem)
	cfg.Trace, cfg.Rand = &count, rand.New(rand.NewPCG(1, 2))
	q, err := NewRC(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := &rcScript{rcEnd: &rcEnd{RC: q, t: t, mem: mem, region: mem.register(7, regionSize, allAccess)}, now: 1000}
	for _, state := range []State{Init, RTR, RTS} {
		if err := q.Modify(1, state, &attr); err != nil {
			t.Fatal(err)
		}
	}
	wr := SendWR{Op: OpWrite, SGEs: []SGE{s.region.span(0, 1000)}, RemoteAddr: 1 << 40, RKey: 9}
	round := func() {
		if err := q.PostSend(s.now, &wr); err != nil {
			t.Fatal(err)
		}
		for q.PollTransmit(s.now, &s.packet) {
		}
		s.ack(q.req.nxt.Add(-1))
	}
	round()
	if n := testing.AllocsPerRun(100, round); n != 0 {
		t.Errorf("%v allocations in a round", n)
	}
	c := q.Counters()
	if uint64(count[TraceSent]) != c.PacketsSent || uint64(count[TraceReceived]) != c.PacketsReceived {
		t.Errorf("%d sent and %d received, counters have %d and %d",
			count[TraceSent], count[TraceReceived], c.PacketsSent, c.PacketsReceived)
	}
	if count[TraceAcked] != count[TraceReceived] || count[TraceBlocked] != 1 || count[TraceState] != 1 {
		t.Errorf("events %v", count)
	}
}
