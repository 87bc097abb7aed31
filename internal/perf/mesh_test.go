package perf

import (
	"context"
	"errors"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/braid-rdma/braid"
	"github.com/braid-rdma/braid/internal/control"
)

// parseSizes reads what someSizes writes.
func parseSizes(text string) (Sizes, error) {
	var sizes someSizes
	for _, word := range strings.Fields(text) {
		size, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return nil, err
		}
		sizes = append(sizes, size)
	}
	return sizes, nil
}

var everywhere = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}

func allowAll() *Orders { return &Orders{To: everywhere, Time: 2 * time.Hour, Sizes: parseSizes} }

// newMesh is a client of servers that send to each other.
func newMesh(t *testing.T, servers int, orders func() *Orders) (*FlowMesh, []*bench) {
	t.Helper()
	f, benches := newOrderBench(t, servers, orders)
	return &FlowMesh{Addresses: f.Addresses, Open: f.Open, routes: virtual}, benches
}

// meshSpec is a short closed loop.
func meshSpec() FlowSpec {
	return FlowSpec{
		Sizes: someSizes{1, 5000, 70_000}, Drain: time.Minute, Seed: 3,
		Connection: Spec{Duration: 100 * time.Millisecond, QPs: 2, QPTimeout: patient},
	}
}

// checkMesh checks that each has sent to each other, and that the sums are right.
func checkMesh(t *testing.T, r *FlowResult, hosts int) {
	t.Helper()
	checkFlows(t, r)
	if !r.AllToAll || len(r.Pairs) != hosts*(hosts-1) || len(r.Servers) != hosts {
		t.Fatalf("%+v", r)
	}
	pairs := map[[2]string]bool{}
	received := map[string]uint64{}
	for _, p := range r.Pairs {
		if pairs[[2]string{p.From, p.To}] = true; p.From == p.To || p.Flows == 0 || p.Bytes == 0 || p.GoodputGbps <= 0 || p.CompletionMicros.P50 <= 0 {
			t.Errorf("%+v", p)
		}
		received[p.To] += p.Bytes
	}
	if len(pairs) != len(r.Pairs) {
		t.Errorf("%d pairs, some of them twice", len(pairs))
	}
	for _, s := range r.Servers {
		if s.Bytes != received[s.Address] {
			t.Errorf("%s received %d bytes, and its pairs have %d", s.Address, s.Bytes, received[s.Address])
		}
	}
}

func TestMesh(t *testing.T) {
	for name, rate := range map[string]float64{"closed": 0, "open": 100e6} {
		t.Run(name, func(t *testing.T) {
			mesh, benches := newMesh(t, 3, allowAll)
			var told []Progress
			mesh.Interval, mesh.Progress = shortestInterval, func(p Progress) { told = append(told, p) }
			spec := meshSpec()
			spec.Rate = rate
			r, err := mesh.Run(t.Context(), spec)
			if err != nil {
				t.Fatal(err)
			}
			checkMesh(t, r, 3)
			if r.Interrupted || r.Missing != nil || r.Loop != name || r.OfferedGbps != 3*rate/1e9 {
				t.Errorf("%+v", r)
			}
			bytes := uint64(0)
			for _, s := range r.Servers {
				bytes += s.Bytes
			}
			if last := told[len(told)-1]; last.Bytes != bytes || len(last.Paths) == 0 {
				t.Errorf("in the end %+v was told, want %d bytes", last, bytes)
			}
			// Each has served the client and the two others.
			for _, b := range benches {
				for range 3 {
					<-b.finish
				}
				for _, err := range b.outcomes {
					if err != nil {
						t.Errorf("a server had %v", err)
					}
				}
			}
		})
	}
}

func TestMeshInterrupted(t *testing.T) {
	mesh, _ := newMesh(t, 3, allowAll)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	mesh.Interval, mesh.grace = shortestInterval, time.Minute
	spec := meshSpec()
	spec.Connection.Duration, spec.Drain = time.Hour, time.Millisecond
	mesh.Progress = func(p Progress) {
		if p.Operations > 2000 {
			cancel()
		}
	}
	r, err := mesh.Run(ctx, spec)
	if !errors.Is(err, context.Canceled) || r == nil || !r.Interrupted || r.Missing != nil {
		t.Fatalf("%+v, error %v", r, err)
	}
	checkFlows(t, r)
	if len(r.Pairs) != 6 {
		t.Errorf("%d pairs, want those of all", len(r.Pairs))
	}
}

// TestMeshEndsWithItsClient: a server sends for others no longer than they are there.
func TestMeshEndsWithItsClient(t *testing.T) {
	mesh, benches := newMesh(t, 2, allowAll)
	spec := meshSpec().WithDefaults()
	spec.Connection.Duration = time.Hour
	ctx := t.Context()
	h := newHub(mesh.Open, 2)
	defer h.close()
	run := &meshRun{spec: &spec, interval: shortestInterval}
	if err := mesh.order(ctx, h, run); err != nil {
		t.Fatal(err)
	}
	if err := run.begin(ctx); err != nil {
		t.Fatal(err)
	}
	var p Progress
	for p.Operations == 0 {
		if err := run.hosts[0].line.Receive(ctx, msgProgress, &p); err != nil {
			t.Fatal(err)
		}
	}
	run.close() // without a word
	for _, b := range benches {
		for range 2 { // the client, and the other server
			<-b.finish
		}
	}
}

// TestMeshEndsWithAServer: where one is gone, the others end and it is told.
func TestMeshEndsWithAServer(t *testing.T) {
	mesh, benches := newMesh(t, 3, allowAll)
	mesh.Interval = shortestInterval
	mesh.Progress = func(p Progress) {
		if p.Operations > 0 {
			benches[1].stop()
		}
	}
	spec := meshSpec()
	spec.Connection.Duration = time.Hour
	if r, err := mesh.Run(t.Context(), spec); r != nil || err == nil {
		t.Errorf("%+v, error %v, want that a server is gone", r, err)
	}
}

func TestOrdersRefused(t *testing.T) {
	for _, test := range []struct {
		want   string
		orders func() *Orders
		change func(*FlowSpec)
	}{
		{"start it with --flows-to", nil, nil},
		{"sends no flows to", func() *Orders {
			return &Orders{To: []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}, From: everywhere, Sizes: parseSizes}
		}, nil},
		{"no orders from", func() *Orders {
			return &Orders{To: everywhere, From: []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}, Sizes: parseSizes}
		}, nil},
		{"--flows-time", func() *Orders { return &Orders{To: everywhere, Sizes: parseSizes} }, func(s *FlowSpec) { s.Connection.Duration = time.Hour }},
		{"--flows-time", func() *Orders { return &Orders{To: everywhere, Sizes: parseSizes} }, func(s *FlowSpec) { s.Drain = time.Hour }},
		{"--flows-rate", func() *Orders { return &Orders{To: everywhere, Rate: 1e6, Sizes: parseSizes} }, func(s *FlowSpec) { s.Rate = 1e8 }},
		{"--max-memory", allowAll, func(s *FlowSpec) { s.Connection.QPs, s.Connection.Size = 512, 1<<20 }},
	} {
		mesh, _ := newMesh(t, 2, test.orders)
		spec := meshSpec()
		if test.change != nil {
			test.change(&spec)
		}
		var refused *braid.CallError
		if r, err := mesh.Run(t.Context(), spec); r != nil || !errors.As(err, &refused) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v, error %v, want %q", r, err, test.want)
		}
	}
}

// TestOrderCheck is about what FlowMesh would not ask for.
func TestOrderCheck(t *testing.T) {
	own := []netip.AddrPort{netip.MustParseAddrPort("192.0.2.1:1")}
	client := netip.MustParseAddr("192.0.2.9")
	for want, change := range map[string]func(*order){
		"1 to 63":        func(a *order) { a.Targets = nil },
		"use 1 to 63":    func(a *order) { a.Targets = make([]netip.AddrPort, MaxMesh) },
		"to itself":      func(a *order) { a.Targets = own },
		"sends no flows": func(a *order) { a.Targets = []netip.AddrPort{{}} },
		"bytes of text":  func(a *order) { a.Sizes = strings.Repeat("1 ", maxSizesText) },
		"invalid syntax": func(a *order) { a.Sizes = "x" },
		"progress every": func(a *order) { a.Interval = 1 },
		"--depth": func(a *order) {
			a.Connection.QPs, a.Targets = 600, append(a.Targets, netip.MustParseAddrPort("192.0.2.3:1"))
		},
		"written or read": func(a *order) { a.Connection.Op = Atomic },
	} {
		spec := meshSpec().WithDefaults()
		asked := newOrder(&spec, 0, []netip.AddrPort{netip.MustParseAddrPort("192.0.2.2:1")}, time.Second)
		if _, err := allowAll().check(client, asked, own); err != nil {
			t.Fatal(err)
		}
		change(asked)
		if _, err := allowAll().check(client, asked, own); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestOneOrderAtATime: a second client waits for its turn.
func TestOneOrderAtATime(t *testing.T) {
	mesh, benches := newMesh(t, 2, allowAll)
	for _, b := range benches {
		b.server.Orders.busy.Store(true)
	}
	if r, err := mesh.Run(t.Context(), meshSpec()); r != nil || err == nil || !strings.Contains(err.Error(), ErrBusy.Error()) {
		t.Errorf("%+v, error %v, want that it is busy", r, err)
	}
}

func TestMeshSpec(t *testing.T) {
	mesh, _ := newMesh(t, 2, allowAll)
	mesh.Addresses = mesh.Addresses[:1]
	if _, err := mesh.Run(t.Context(), meshSpec()); !errors.Is(err, ErrSpec) {
		t.Errorf("one host: error %v", err)
	}
	mesh.Addresses = append(mesh.Addresses, mesh.Addresses[0])
	if _, err := mesh.Run(t.Context(), meshSpec()); !errors.Is(err, ErrSpec) {
		t.Errorf("the same host twice: error %v", err)
	}
}

// TestMeshIsPaced: a closed loop takes what the server allows.
func TestMeshIsPaced(t *testing.T) {
	const rate = 40e6
	mesh, _ := newMesh(t, 2, func() *Orders {
		o := allowAll()
		o.Rate = rate
		return o
	})
	spec := meshSpec()
	spec.Sizes = someSizes{100_000}
	spec.Connection.Duration = 300 * time.Millisecond
	r, err := mesh.Run(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	checkMesh(t, r, 2)
	for _, p := range r.Pairs {
		// Credit begins at zero, and a message may exceed it.
		if most := rate/8*r.DurationSeconds + 2*65536; float64(p.Bytes) > most {
			t.Errorf("%d bytes in %v s, want at most %v", p.Bytes, r.DurationSeconds, most)
		}
	}
}

func TestPace(t *testing.T) {
	now := time.Now()
	p := newPace(8e9, now) // a byte per nanosecond
	if p.take(1) || !p.held {
		t.Error("credit without time")
	}
	now = now.Add(time.Hour)
	if !p.refill(now) || !p.take(3e6) || p.take(1) {
		t.Error("a burst, and nothing beyond")
	}
	if now = now.Add(1999 * time.Microsecond); p.refill(now) {
		t.Error("the message was longer than the burst, and is paid for before the next")
	}
	if now = now.Add(2 * time.Microsecond); !p.refill(now) || !p.take(1) {
		t.Error("it was paid for")
	}
	if none := (*pace)(nil); !none.take(1<<40) || none.refill(now) {
		t.Error("none bounds something")
	}
}

func TestTallyText(t *testing.T) {
	tally := newTally()
	for i := range int64(2000) {
		tally.finish(&flow{size: i * i}, time.Duration(i*i*i)*time.Microsecond)
	}
	tally.unfinished, tally.waiting, tally.turnedAway = 1, 2, 3
	text := tally.text()
	got := newTally()
	if err := got.add(&text); err != nil {
		t.Fatal(err)
	}
	for i := range got.classes {
		g, w := &got.classes[i], &tally.classes[i]
		if g.flows != w.flows || g.bytes != w.bytes || g.times.summary() != w.times.summary() {
			t.Errorf("class %d: %+v, want %+v", i, g.times.summary(), w.times.summary())
		}
	}
	if got.unfinished != 1 || got.waiting != 2 || got.turnedAway != 3 {
		t.Errorf("%+v", got)
	}
	for _, wrong := range [][]byte{{1}, {0x80}, {1, 0}, {1, 0x80}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 1}, {1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}} {
		text.Classes[2].Times.Counts = wrong
		if err := newTally().add(&text); !errors.Is(err, control.ErrProtocol) {
			t.Errorf("% x: error %v", wrong, err)
		}
	}
	text.Classes = text.Classes[1:]
	if err := newTally().add(&text); !errors.Is(err, control.ErrProtocol) {
		t.Errorf("a class is missing: error %v", err)
	}
}
