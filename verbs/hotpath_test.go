package verbs

import (
	"context"
	"net/netip"
	"testing"
)

// newDatagramQP is a queue pair whose sends complete as they are posted, an
// address to send to, and a region.
func newDatagramQP(t testing.TB) (*QP, *CQ, *MR, AH) {
	t.Helper()
	d, pd := newTestPD(t)
	cq, err := d.CreateCQ(16)
	if err != nil {
		t.Fatal(err)
	}
	m, err := pd.AllocMemory(4096, LocalWrite)
	if err != nil {
		t.Fatal(err)
	}
	q, err := pd.CreateQP(QPOptions{Type: UD, SendCQ: cq, SignalAll: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Activate(1); err != nil {
		t.Fatal(err)
	}
	to, err := pd.CreateAH(netip.MustParseAddr("192.0.2.2"))
	if err != nil {
		t.Fatal(err)
	}
	return q, cq, m, to
}

func TestHotPathDoesNotAllocate(t *testing.T) {
	q, cq, m, to := newDatagramQP(t)
	sges := []SGE{m.SGE(0, 8), m.SGE(8, 8)}
	batch := []SendWR{{Op: OpSend, SGEs: sges, AH: to}}
	var out [4]Completion
	ctx := context.Background()
	allocs := testing.AllocsPerRun(1000, func() {
		// The request is made on the stack, and its lists too.
		if err := q.PostSend(&SendWR{ID: 1, Op: OpSend, SGEs: []SGE{m.SGE(0, 8), m.SGE(8, 8)}, AH: to}); err != nil {
			t.Fatal(err)
		}
		if n, err := cq.Poll(out[:]); n != 1 || err != nil || out[0].WRID != 1 || out[0].Err() != nil {
			t.Fatal(n, err, out[0])
		}
		if _, err := q.PostSends(batch); err != nil {
			t.Fatal(err)
		}
		if n, err := cq.Wait(ctx, out[:]); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		if n, _ := cq.Poll(out[:]); n != 0 {
			t.Fatal(n)
		}
		if _, err := m.LoadUint64(0); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations per operation", allocs)
	}
	if sent := q.device.engine.(*idleEngine).packet.Spans; len(sent) != 2 || sent[1] != sges[1] {
		t.Errorf("sent %+v, want %+v", sent, sges)
	}
}

func TestEventsKeepTheOldest(t *testing.T) {
	d, _ := newTestPD(t)
	d.events.raise(Event{Kind: EventQPFatal})
	for range eventBacklog + 2 {
		d.events.raise(Event{Kind: EventQPReqErr})
	}
	if got := d.Query().EventsDropped; got != 3 {
		t.Errorf("%d dropped, want 3", got)
	}
	if len(d.Events()) != eventBacklog {
		t.Errorf("%d kept, want %d", len(d.Events()), eventBacklog)
	}
	if e := <-d.Events(); e.Kind != EventQPFatal {
		t.Errorf("the oldest event is %v", e)
	}
}

func TestAddressesForgetTheOldestSource(t *testing.T) {
	var a Addresses
	made, err := a.create(netip.MustParseAddr("10.0.0.1"), nil)
	if err != nil {
		t.Fatal(err)
	}
	first := a.Learn(netip.MustParseAddr("10.1.0.0"))
	if a.Learn(netip.MustParseAddr("10.1.0.0")) != first {
		t.Error("a source got two handles")
	}
	addr := netip.MustParseAddr("10.2.0.0")
	for range maxLearnt {
		a.Learn(addr)
		addr = addr.Next()
	}
	if _, ok := a.Addr(first); ok {
		t.Error("the oldest source is still known")
	}
	if got, ok := a.Addr(made); !ok || got.String() != "10.0.0.1" {
		t.Error("sources displaced a handle that the program made")
	}
	if len(a.byAH) != maxLearnt+1 || len(a.learnt) != maxLearnt {
		t.Errorf("%d handles, %d sources", len(a.byAH), len(a.learnt))
	}
	again := a.Learn(netip.MustParseAddr("10.1.0.0"))
	if again == first {
		t.Error("a handle was used again")
	}
	a.destroy(again)
	if _, ok := a.Addr(again); !ok {
		t.Error("destroy forgot a learnt source")
	}
	a.destroy(made)
	a.destroy(made)
	if _, ok := a.Addr(made); ok || len(a.created) != 0 {
		t.Error("destroy kept a made handle")
	}
	if _, err := a.create(netip.Addr{}, nil); err == nil {
		t.Error("a handle of no address")
	}
}

func BenchmarkPostAndPoll(b *testing.B) {
	q, cq, m, to := newDatagramQP(b)
	wr := SendWR{Op: OpSend, SGEs: []SGE{m.SGE(0, 64)}, AH: to}
	var out [1]Completion
	b.ReportAllocs()
	for b.Loop() {
		if err := q.PostSend(&wr); err != nil {
			b.Fatal(err)
		}
		if n, _ := cq.Poll(out[:]); n != 1 {
			b.Fatal("no completion")
		}
	}
}
