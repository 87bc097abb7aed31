package perf

import (
	"context"
	"errors"
	"math"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/braid-rdma/braid/transport"
)

// TestIntervalsAddUp: the intervals of a test leave nothing out.
func TestIntervalsAddUp(t *testing.T) {
	b := newBench(t, nil)
	for _, op := range []Op{Write, Read} {
		var last Progress
		var intervals []Interval
		b.client.Interval = time.Millisecond
		b.client.Progress = func(p Progress) {
			intervals = append(intervals, p.Since(&last))
			last = p
		}
		r, err := b.run(Spec{Op: op, Metric: Bandwidth, Iterations: 400, Size: 10000})
		if err != nil {
			t.Fatal(err)
		}
		var operations, bytes uint64
		for i, at := range intervals {
			operations += at.Operations
			bytes += at.Bytes
			if i > 0 && at.Start != intervals[i-1].End {
				t.Errorf("%s: interval %d begins at %v, the one before ends at %v", op, i, at.Start, intervals[i-1].End)
			}
		}
		if operations != r.Iterations || bytes != r.Iterations*10000 {
			t.Errorf("%s: the intervals have %d operations and %d bytes, the test %d and %d", op, operations, bytes, r.Iterations, r.Iterations*10000)
		}
		var carried uint64
		for _, path := range last.Paths {
			carried += path
		}
		switch {
		case op == Read && last.Paths != nil:
			t.Errorf("the requester of READ knows what the paths carry: %v", last.Paths)
		case op == Write && math.Abs(float64(carried)-float64(bytes)) > float64(bytes)/100+float64(r.Retransmits*4096):
			t.Errorf("the paths carried %d bytes of %d", carried, bytes)
		}
	}
}

func TestIntervalOfTwoProgresses(t *testing.T) {
	earlier := Progress{Elapsed: time.Second, Operations: 10, Bytes: 1000, Retransmits: 1, Marked: 5, Paths: []uint64{600, 0, 400}}
	p := Progress{Elapsed: 3 * time.Second, Operations: 30, Bytes: 501_000, Retransmits: 4, Marked: 5, Paths: []uint64{600, 0, 500_400}}
	got := p.Since(&earlier)
	if got.Start != 1 || got.End != 3 || got.Operations != 20 || got.Bytes != 500_000 || got.GoodputGbps != 0.002 || got.Retransmits != 3 || got.Marked != 0 {
		t.Errorf("%+v", got)
	}
	// Path 0 carried something before and has a rate of zero; path 1 never did.
	if want := []PathRate{{0, 0}, {2, 0.002}}; !slices.Equal(got.Paths, want) {
		t.Errorf("paths %+v, want %+v", got.Paths, want)
	}
}

// interruptible is a context that ends when something has been measured.
func interruptible(t *testing.T, c *Client) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	c.Interval, c.grace = time.Millisecond, time.Minute
	c.Progress = func(p Progress) {
		if p.Operations > 0 {
			cancel()
		}
	}
	return ctx
}

// TestInterrupted: who ends a test early gets what was measured until then, and the server learns it.
func TestInterrupted(t *testing.T) {
	b := newBench(t, nil)
	for _, spec := range []Spec{
		{Op: Write, Metric: Bandwidth, Verify: true},
		{Op: Read, Metric: Bandwidth},
		{Op: Send, Metric: Bandwidth, Bidirectional: true, Verify: true},
		{Op: Read, Metric: Latency}, // with an echo both ends would poll, and wait for each other on a busy machine
	} {
		spec.Duration, spec.QPTimeout = time.Hour, patient
		r, err := b.client.Run(interruptible(t, b.client), spec)
		if !errors.Is(err, context.Canceled) || r == nil {
			t.Fatalf("%+v: %v, error %v, want a result and context.Canceled", spec, r, err)
		}
		if !r.Interrupted || r.Iterations == 0 || r.GoodputGbps <= 0 || len(r.Paths) == 0 {
			t.Errorf("%+v: %+v", spec, r)
		}
		if spec.Verify && (r.Verified == nil || !*r.Verified) {
			t.Errorf("%+v: not verified", spec)
		}
		<-b.finish
		b.mu.Lock()
		if got := b.results[len(b.results)-1]; got == nil || !got.Interrupted {
			t.Errorf("%+v: the server has %+v, error %v", spec, got, b.outcomes[len(b.outcomes)-1])
		}
		b.mu.Unlock()
	}
}

// TestInterruptedWithPerftest: a peer that cannot be told does not keep the result back.
func TestInterruptedWithPerftest(t *testing.T) {
	spec := Spec{Op: Write, Metric: Bandwidth, QP: "rc", Duration: time.Hour, QPTimeout: patient}.WithDefaults()
	client, ended := newPerftestBench(t, &spec)
	r, err := client.RunPerftest(interruptible(t, client), spec)
	if !errors.Is(err, context.Canceled) || r == nil || !r.Interrupted || r.Iterations == 0 {
		t.Errorf("%+v, error %v", r, err)
	}
	<-ended
}

func TestNothingMeasuredIsNoResult(t *testing.T) {
	b := newBench(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := b.client.Run(ctx, Spec{Op: Write, Metric: Bandwidth}); r != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, error %v", r, err)
	}
}

// TestInterruptedWithoutProgress: operations that do not complete any more do not keep the result back.
func TestInterruptedWithoutProgress(t *testing.T) {
	b := newBench(t, nil)
	ctx := interruptible(t, b.client)
	context.AfterFunc(ctx, func() {
		// The data is lost; the conversation, in smaller packets, goes on.
		b.network.SetFilter(func(_, _ netip.Addr, p *transport.Packet) bool { return p.Length < 4096 })
	})
	b.client.grace = time.Millisecond
	r, err := b.client.Run(ctx, Spec{Op: Write, Metric: Bandwidth, Duration: time.Hour, QPTimeout: patient})
	if !errors.Is(err, context.Canceled) || r == nil || !r.Interrupted || r.Iterations == 0 {
		t.Errorf("%+v, error %v", r, err)
	}
}
