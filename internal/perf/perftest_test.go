package perf

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/braid-rdma/braid/internal/loopnet"
	"github.com/braid-rdma/braid/verbs"
)

// newPerftestBench is a client and a server that use perftest's exchange.
func newPerftestBench(t *testing.T, spec *Spec) (*Client, <-chan error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	network := loopnet.New(loopnet.Options{Paths: 1})
	open := func(netip.Addr) (*verbs.Device, error) { return network.Open(), nil }
	server := &PerftestServer{Listener: listener, Open: open, Once: true, Spec: spec}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx) }()
	client := &Client{Address: listener.Addr().String(), Open: open, routes: virtual}
	t.Cleanup(func() {
		cancel()
		client.Close()
	})
	return client, ended
}

// Both ends are ours here, so this shows that they agree; package interop shows
// that perftest does.
func TestPerftestEveryTest(t *testing.T) {
	for _, op := range Ops {
		for _, metric := range Metrics {
			for _, qps := range []int{1, 3} {
				spec := Spec{Op: op, Metric: metric, QP: "rc", Iterations: rounds(metric), Size: 5000, QPs: qps, QPTimeout: patient}.WithDefaults()
				if spec.Check() != nil {
					continue
				}
				client, ended := newPerftestBench(t, &spec)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				r, err := client.RunPerftest(ctx, spec)
				cancel()
				if err := errors.Join(err, <-ended); err != nil {
					t.Errorf("%s %s, %d queue pairs: %v", op, metric, qps, err)
					continue
				}
				if want := uint64(rounds(metric) * qps); r.Iterations != want {
					t.Errorf("%s %s: %d iterations, want %d", op, metric, r.Iterations, want)
				}
				if r.LatencyMicros.Min <= 0 || r.AverageMiBps <= 0 {
					t.Errorf("%s %s: implausible: %+v", op, metric, r)
				}
			}
		}
	}
}

func TestPerftestRefuses(t *testing.T) {
	for name, spec := range map[string]Spec{
		"multi-path":    {Op: Write, Metric: Bandwidth, QP: "mp"},
		"bidirectional": {Op: Write, Metric: Bandwidth, QP: "rc", Bidirectional: true},
		"verified":      {Op: Write, Metric: Bandwidth, QP: "rc", Verify: true},
		"endless sends": {Op: Send, Metric: Bandwidth, QP: "rc", Duration: time.Second},
	} {
		checked := spec.WithDefaults()
		if err := checked.CheckPerftest(); !errors.Is(err, ErrSpec) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// A peer that says anything else, or nothing, ends by itself.
func TestPerftestServerOutlivesStrangers(t *testing.T) {
	client, ended := newPerftestBench(t, nil)
	conn, err := net.Dial("tcp", client.Address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("6.06\x00 and then something else that is long enough to be read")); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if err := <-ended; err == nil {
		t.Error("the only client was no client, and the server does not say so")
	}
}
