package mprdma04

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/braid-rdma/braid/experiments/fluid"
	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/sim"
)

// linkHeaders is what a packet takes on the link beside its payload: Ethernet with
// preamble and gap (38 bytes), IPv4 (20), UDP (8), BTH (12), RETH (16), the
// multi-path header (16) and the ICRC (4).
const linkHeaders = 114

// sampleEvery is a tenth of the round trip: short beside every oscillation that
// feedback of one round trip can cause.
const sampleEvery = 10 * time.Microsecond

// trace is what the packets did after the warm-up.
type trace struct {
	seconds, queue []float64 // queue in packets, at each sample
	window         float64   // of a flow, on average
	marked         float64   // share of the packets
	utilisation    float64   // share of the bottleneck's rate
	packetBytes    float64   // on the link, on average
	hops, events   uint64
}

// simulate runs the eight flows under one marking.
func simulate(ctx context.Context, seed uint64, mtu int, m fluid.Marking, e extent) (*trace, error) {
	s, err := scenario.Parse("scenario.yaml", base)
	if err != nil {
		return nil, err
	}
	size := mtu + linkHeaders
	err = s.Set(
		fmt.Sprint("seed=", seed),
		fmt.Sprint("duration=", e.duration.Seconds(), "s"),
		fmt.Sprint("fabric.mtu=", mtu),
		fmt.Sprintf("fabric.links.path1.ecn={kmin: %d, kmax: %d, pmax: %g}", int(m.KMin)*size, int(m.KMax)*size, m.PMax),
	)
	if err != nil {
		return nil, err
	}
	r, err := s.Start()
	if err != nil {
		return nil, err
	}
	return observe(ctx, r, e, float64(size))
}

// observe lets the simulation happen and samples the bottleneck.
func observe(ctx context.Context, r *scenario.Run, e extent, size float64) (*trace, error) {
	bottleneck, ok := r.Net.LinkNumber("tor0", "tor1")
	if !ok {
		return nil, fmt.Errorf("%w: the scenario has no bottleneck", sim.ErrConfig)
	}
	r.Net.Run(e.warmUp)
	before := r.Net.Link(bottleneck)
	t := &trace{}
	for at := e.warmUp; at < e.duration; at += sim.Time(sampleEvery) * sim.Nanosecond {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		r.Net.Run(at)
		t.seconds = append(t.seconds, at.Seconds())
		t.queue = append(t.queue, float64(r.Net.Link(bottleneck).Queue)/size)
		for _, f := range r.Flows {
			t.window += f.State().Window
		}
	}
	after := r.Net.Link(bottleneck)
	packets, bytes := float64(after.Packets-before.Packets), float64(after.Bytes-before.Bytes)
	t.window /= float64(len(t.queue) * len(r.Flows))
	t.marked = float64(after.Marked-before.Marked) / packets
	t.utilisation = bytes * 8 / (r.Net.Now() - e.warmUp).Seconds() / float64(after.Rate)
	t.packetBytes = bytes / packets
	t.hops, t.events = r.Net.Hops(), r.Net.Events()
	return t, nil
}

// mean and deviation describe the queue.
func (t *trace) mean() float64 {
	sum := 0.0
	for _, q := range t.queue {
		sum += q
	}
	return sum / float64(len(t.queue))
}

func (t *trace) deviation() float64 {
	mean, sum := t.mean(), 0.0
	for _, q := range t.queue {
		sum += (q - mean) * (q - mean)
	}
	return math.Sqrt(sum / float64(len(t.queue)))
}
