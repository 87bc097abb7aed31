package mprdma13

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/sim"
)

// A class is flows of some sizes (§5.1.2).
type class int

const (
	all   class = iota
	large       // above 10 MB
	small       // below 100 KB
)

var classes = []class{all, large, small}

func (c class) String() string { return [...]string{"all flows", "flows > 10 MB", "flows < 100 KB"}[c] }

func (c class) has(bytes int64) bool {
	switch c {
	case large:
		return bytes > 10_000_000
	case small:
		return bytes < 100_000
	}
	return true
}

// times is what the flows of a case took.
type times struct {
	byClass       [3]statistics
	carried       float64 // payload delivered while flows arrived, as a share of what the servers' links carry
	retransmitted uint64
	pauses        uint64
	hops, events  uint64
	simulated     time.Duration
}

// statistics are those of one class.
type statistics struct {
	flows    int
	mean     float64 // completion time in µs
	slowdown float64 // mean of completion time to ideal
	p99      float64 // of the completion time, in µs
}

func simulate(ctx context.Context, seed uint64, c testCase) (*times, error) {
	s, err := scenario.Parse("scenario.yaml", base)
	if err != nil {
		return nil, err
	}
	if err := s.Set(append(c.settings(), fmt.Sprint("seed=", seed))...); err != nil {
		return nil, fmt.Errorf("%v: %w", c, err)
	}
	r, err := s.Start()
	if err != nil {
		return nil, fmt.Errorf("%v: %w", c, err)
	}
	if err := advance(ctx, r, c.arrivalTime(), func() bool { return false }); err != nil {
		return nil, fmt.Errorf("%v: %w", c, err)
	}
	carried := carriedShare(r)
	if err := advance(ctx, r, s.Duration, func() bool { return allDone(r) }); err != nil {
		return nil, fmt.Errorf("%v: %w", c, err)
	}
	t, err := collect(r)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", c, err)
	}
	t.carried = carried
	return t, nil
}

// slice is how often a run looks whether it has been cancelled, or is over.
const slice = 500 * sim.Microsecond

// advance lets virtual time pass until the end, or until there is nothing more
// to wait for.
func advance(ctx context.Context, r *scenario.Run, end sim.Time, over func() bool) error {
	for at := r.Net.Now(); at < end && !over(); {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		at = min(end, at+slice)
		r.Net.Run(at)
	}
	return nil
}

func allDone(r *scenario.Run) bool {
	for _, f := range r.Flows {
		if result := f.Result(); !result.Done() {
			return false
		}
	}
	return true
}

// carriedShare is the payload that has arrived so far, as a share of what the
// links of all servers could have carried.
func carriedShare(r *scenario.Run) float64 {
	bytes := int64(0)
	for _, f := range r.Flows {
		bytes += f.Delivered()
	}
	return float64(bytes) * 8 / (float64(len(r.Net.Graph().Hosts)) * serverRate * r.Net.Now().Seconds())
}

const serverRate = 40e9 // bits per second

func collect(r *scenario.Run) (*times, error) {
	t := &times{hops: r.Net.Hops(), events: r.Net.Events(), simulated: time.Duration(r.Net.Now() / sim.Nanosecond)}
	var samples, slowdowns [3][]float64
	for _, f := range r.Flows {
		result := f.Result()
		if !result.Done() {
			return nil, fmt.Errorf("%w: flow %d of %d bytes has not ended", sim.ErrConfig, f.Number, result.Bytes)
		}
		t.retransmitted += result.Retransmitted
		for _, c := range classes {
			if c.has(result.Bytes) {
				samples[c] = append(samples[c], result.Duration().Seconds()*1e6)
				slowdowns[c] = append(slowdowns[c], result.Duration().Seconds()/ideal(r, &result))
			}
		}
	}
	for _, c := range classes {
		slices.Sort(samples[c])
		t.byClass[c] = statistics{
			flows: len(samples[c]), mean: mean(samples[c]), slowdown: mean(slowdowns[c]), p99: quantile(samples[c], 0.99),
		}
	}
	for _, l := range r.Net.Links() {
		t.pauses += l.Pauses
	}
	return t, nil
}

// ideal is the base round trip and the size over the rate of the servers' links, in
// seconds. It does not count headers, so that transports are compared with the same
// measure although their headers differ.
func ideal(r *scenario.Run, f *sim.FlowResult) float64 {
	const linkDelay = 2e-6 // seconds
	crossings := 8.0
	if groups := r.Net.Graph().GroupOf; groups[f.Src] == groups[f.Dst] {
		crossings = 4
	}
	return crossings*linkDelay + float64(f.Bytes)*8/serverRate
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// quantile is the value that the given fraction of the sorted values does not exceed.
func quantile(sorted []float64, fraction float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	return sorted[max(0, int(math.Ceil(fraction*float64(len(sorted))))-1)]
}
