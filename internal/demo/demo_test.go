package demo

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braid-rdma/braid"
	"github.com/braid-rdma/braid/internal/control"
	"github.com/braid-rdma/braid/internal/loopnet"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// cutter loses the packets of one path of a network in memory.
type cutter struct {
	path  atomic.Int64 // -1: none
	calls []string
}

func newCutter(n *loopnet.Network) *cutter {
	c := &cutter{}
	c.path.Store(-1)
	n.SetFilter(func(_, _ netip.Addr, p *transport.Packet) bool { return int64(p.Path) != c.path.Load() })
	return c
}

func (c *cutter) Cut(path int) {
	c.calls = append(c.calls, "cut")
	c.path.Store(int64(path))
}

func (c *cutter) Restore(path int) {
	c.calls = append(c.calls, "restore")
	c.path.Store(-1)
}

// stage is a responder on a network in memory and a requester for it.
func newStage(t *testing.T, config Config) (Requester, *cutter, <-chan error) {
	t.Helper()
	network := loopnet.New(loopnet.Options{Paths: config.WithDefaults().Paths})
	open := func(int) (*verbs.Device, error) { return network.Open(), nil }
	responder, err := NewResponder(config.Paths, open)
	if err != nil {
		t.Fatal(err)
	}
	responded := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		responded <- responder.Respond(ctx)
		responder.Close()
	}()
	t.Cleanup(cancel)
	faults := newCutter(network)
	return Requester{
		Config: config, Address: responder.Address(), Open: open,
		Faults: func(*verbs.Device) Faults { return faults },
	}, faults, responded
}

func TestDemonstration(t *testing.T) {
	stage, faults, responded := newStage(t, Config{Size: 2 << 20, Duration: 900 * time.Millisecond, CutPath: 2})
	seen := map[EventKind]int{}
	stage.Observe = func(e Event) { seen[e.Kind]++ }
	report, err := stage.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := <-responded; err != nil {
		t.Errorf("responder: %v", err)
	}
	if !report.Verified || len(report.Failures) > 0 {
		t.Errorf("not verified: %v", report.Failures)
	}
	if len(report.Operations) != 5 || len(report.Paths) != 4 {
		t.Fatalf("%d operations, %d paths", len(report.Operations), len(report.Paths))
	}
	var bytes uint64
	for _, op := range report.Operations {
		if bytes += op.Bytes; op.Count == 0 || !op.Verified {
			t.Errorf("operation %+v", op)
		}
	}
	if bytes != report.Bytes || report.GoodputGbps <= 0 {
		t.Errorf("%d bytes in all, the operations have %d; goodput %v", report.Bytes, bytes, report.GoodputGbps)
	}
	if at := report.Cut.AtMillis; at < 300 || at > 800 || report.Cut.Path != 2 {
		t.Errorf("cut: %+v", report.Cut)
	}
	if report.Cut.LongestStallMillis <= 0 || report.Restored.AtMillis <= report.Cut.AtMillis {
		t.Errorf("cut %+v, restored %+v", report.Cut, report.Restored)
	}
	if p := report.Paths[2]; p.Lost == 0 || p.CutGbps > p.BeforeGbps/2 {
		t.Errorf("the path that was cut: %+v", p)
	}
	if len(faults.calls) < 2 || faults.calls[0] != "cut" || faults.calls[1] != "restore" {
		t.Errorf("faults: %v", faults.calls)
	}
	for _, kind := range []EventKind{Connected, StreamBegan, PathRates, PathCut, PathRestored} {
		if seen[kind] == 0 {
			t.Errorf("no event of kind %d", kind)
		}
	}
	if seen[Checked] != 5 {
		t.Errorf("%d operations were told of, want 5", seen[Checked])
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	stage, faults, responded := newStage(t, Config{Size: minSize, Duration: 10 * time.Second})
	ctx, cancel := context.WithCancel(t.Context())
	stage.Observe = func(e Event) {
		if e.Kind == PathRates {
			cancel()
		}
	}
	if _, err := stage.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want context.Canceled", err)
	}
	if faults.path.Load() != -1 {
		t.Error("the fault outlives the demonstration")
	}
	select {
	case <-responded:
	case <-time.After(2 * time.Minute):
		t.Fatal("the responder goes on without its requester")
	}
}

func TestCheckerFindsAWrongChunk(t *testing.T) {
	region := make([]byte, minSize)
	sum := stamp(chunk(region, 17), 17)
	if other := stamp(chunk(region, 17), 33); other == sum {
		t.Error("chunks of different number have the same checksum")
	}
	if again := stamp(chunk(region, 17), 17); again != sum {
		t.Error("the checksum of a chunk changes")
	}
	chunk(region, 17)[chunkSize-1] ^= 1
	if stamp(chunk(region, 17), 17) == sum {
		t.Error("a flipped bit does not change the checksum")
	}
}

func TestResponderRefuses(t *testing.T) {
	tests := []struct {
		name string
		wish any
		want error
	}{
		{"no wish", "GET /", control.ErrProtocol},
		{"too much memory", wish{Paths: 4, Size: 1 << 40}, ErrConfig},
		{"too many paths", wish{Paths: 100000, Size: 16 << 20}, ErrConfig},
		{"less than nothing", wish{Paths: 4, Size: -65536}, ErrConfig},
	}
	for _, test := range tests {
		stage, _, responded := newStage(t, Config{})
		line := call(t, &stage, test.wish)
		var refused *braid.CallError
		if err := line.Receive(t.Context(), tellOffer, new(offer)); !errors.As(err, &refused) {
			t.Errorf("%s: error %v, want a refusal", test.name, err)
		}
		if err := <-responded; !errors.Is(err, test.want) {
			t.Errorf("%s: the responder ended with %v, want %v", test.name, err, test.want)
		}
	}
}

// call opens a device on the stage and asks the responder for something.
func call(t *testing.T, stage *Requester, wish any) *control.Line {
	t.Helper()
	device, err := stage.Open(4)
	if err != nil {
		t.Fatal(err)
	}
	c, err := control.Open(device, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		device.Close()
	})
	channel, err := control.Dial(t.Context(), c, stage.Address)
	if err != nil {
		t.Fatal(err)
	}
	line, err := control.Ask(channel, protocol, wish)
	if err != nil {
		t.Fatal(err)
	}
	return line
}

func TestConfigCheck(t *testing.T) {
	tests := []struct {
		config Config
		ok     bool
	}{
		{Config{}, true},
		{Config{Paths: 256, Size: maxSize, Duration: time.Hour, CutPath: 255}, true},
		{Config{Paths: 1}, false},
		{Config{Paths: 257}, false},
		{Config{Paths: 4, CutPath: 4}, false},
		{Config{CutPath: -1}, false},
		{Config{Size: 1}, false},
		{Config{Size: maxSize + 1}, false},
		{Config{Duration: time.Millisecond}, false},
	}
	for _, test := range tests {
		config := test.config.WithDefaults()
		if err := config.Check(); (err == nil) != test.ok || err != nil && !errors.Is(err, ErrConfig) {
			t.Errorf("%+v: error %v", test.config, err)
		}
	}
}

func TestReportKeys(t *testing.T) {
	text, err := json.Marshal(Report{Schema: Schema, Paths: []PathReport{}, Operations: []OperationDone{}})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"schema":"braid.demo/1","verified":false,"paths":[],"bytes":0,"goodput_gbps":0,` +
		`"stream":{"duration_ms":0,"chunks":0,"before_gbps":0,"cut_gbps":0,"restored_gbps":0,"longest_pause_ms":0},` +
		`"cut":{"path":0,"at_ms":0,"longest_stall_ms":0},"restored":{"path":0,"at_ms":0,"ms":null},` +
		`"operations":[],"retransmits":0,"spurious_retransmits":0,"qp":"","mtu":0}`
	if string(text) != want {
		t.Errorf("the form of the report changed: change Schema as well\n got %s\nwant %s", text, want)
	}
}
