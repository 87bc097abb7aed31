package mprdma05

import (
	"context"
	"fmt"

	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/sim"
)

const (
	mtu = 1024

	// linkHeaders is what a packet takes on the link beside its payload: Ethernet
	// with preamble and gap (38 bytes), IPv4 (20), UDP (8), BTH (12), RETH (16), the
	// multi-path header (16) and the ICRC (4).
	linkHeaders = 114

	paths = 4

	// sampleEvery is below the base round trip of 16 µs.
	sampleEvery = 10 * sim.Microsecond
)

// perPath is a number for each physical path: those of 20, 40, 60 and 80 Gb/s.
type perPath [paths]float64

// trace is what the paths did.
type trace struct {
	control     control
	seconds     []float64 // ends of the intervals, warm-up included
	ratios      []perPath // of marked packets, in each interval
	ratio       perPath   // the rest is after the warm-up: marked packets to all,
	queue       perPath   // packets waiting, on average,
	utilisation perPath   // share of the rate,
	window      float64   // of a connection, on average

	packetBytes  float64
	hops, events uint64
}

// simulate runs the ten connections with one out-of-order control.
func simulate(ctx context.Context, seed uint64, c control, e extent) (*trace, error) {
	s, err := scenario.Parse("scenario.yaml", base)
	if err != nil {
		return nil, err
	}
	err = s.Set(
		fmt.Sprint("seed=", seed),
		fmt.Sprint("duration=", e.duration.Seconds(), "s"),
		fmt.Sprint("transports.mp.delta=", c.delta),
		fmt.Sprint("transports.mp.slots=", c.slots),
	)
	if err != nil {
		return nil, err
	}
	r, err := s.Start()
	if err != nil {
		return nil, err
	}
	o := observer{run: r, trace: &trace{control: c}}
	if err := o.watch(ctx, e); err != nil {
		return nil, err
	}
	return o.trace, nil
}

// observer takes samples of a run.
type observer struct {
	run     *scenario.Run
	trace   *trace
	samples float64
}

// watch lets the simulation happen.
func (o *observer) watch(ctx context.Context, e extent) error {
	t := o.trace
	begin := o.links()
	last, settled := begin, begin
	for at := sampleEvery; at <= e.duration; at += sampleEvery {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		o.run.Net.Run(at)
		if at > e.warmUp {
			o.sample()
		}
		if at%e.interval == 0 {
			now := o.links()
			t.seconds = append(t.seconds, at.Seconds())
			t.ratios = append(t.ratios, ratios(&last, &now))
			last = now
		}
		if at == e.warmUp {
			settled = o.links()
		}
	}
	end := o.links()
	t.ratio = ratios(&settled, &end)
	for p := range paths {
		bytes := float64(end[p].Bytes - settled[p].Bytes)
		t.utilisation[p] = bytes * 8 / (e.duration - e.warmUp).Seconds() / float64(end[p].Rate)
		t.queue[p] /= o.samples
	}
	t.window /= o.samples
	t.packetBytes = float64(end[0].Bytes) / float64(end[0].Packets)
	t.hops, t.events = o.run.Net.Hops(), o.run.Net.Events()
	return nil
}

// sample adds queues and windows of this instant.
func (o *observer) sample() {
	o.samples++
	for p, link := range o.links() {
		o.trace.queue[p] += float64(link.Queue) / (mtu + linkHeaders)
	}
	for _, f := range o.run.Flows {
		o.trace.window += f.State().Window / float64(len(o.run.Flows))
	}
}

// links returns what the bottleneck of each path has done so far.
func (o *observer) links() (links [paths]sim.LinkResult) {
	for p := range links {
		if number, ok := o.run.Net.LinkNumber("tor0", fmt.Sprint("path", p+1)); ok {
			links[p] = o.run.Net.Link(number)
		}
	}
	return links
}

// ratios are those of marked packets between two looks.
func ratios(before, after *[paths]sim.LinkResult) (r perPath) {
	for p := range r {
		if packets := after[p].Packets - before[p].Packets; packets > 0 {
			r[p] = float64(after[p].Marked-before[p].Marked) / float64(packets)
		}
	}
	return r
}

// average is the mean over several draws of the mapping; the course over time is
// that of the first.
func average(draws []*trace) *trace {
	mean := *draws[0]
	mean.ratio, mean.queue, mean.utilisation, mean.window = perPath{}, perPath{}, perPath{}, 0
	for _, t := range draws {
		for p := range paths {
			mean.ratio[p] += t.ratio[p] / float64(len(draws))
			mean.queue[p] += t.queue[p] / float64(len(draws))
			mean.utilisation[p] += t.utilisation[p] / float64(len(draws))
		}
		mean.window += t.window / float64(len(draws))
	}
	return &mean
}

// spread is how far apart the values are, as a part of their mean.
func (v perPath) spread() float64 {
	low, high := v[0], v[0]
	for _, x := range v {
		low, high = min(low, x), max(high, x)
	}
	return (high - low) / v.mean()
}

func (v perPath) mean() float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / paths
}
