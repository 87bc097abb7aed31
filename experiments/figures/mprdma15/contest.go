package mprdma15

import (
	"context"
	"fmt"

	"github.com/braid-rdma/braid/experiments/figures/testbed"
	"github.com/braid-rdma/braid/sim"
)

// times of the experiment.
type times struct{ joins, end sim.Time }

// paperTimes has the paper's instant with milliseconds for seconds; the end is
// not in the text.
var (
	paperTimes = times{joins: 30 * sim.Millisecond, end: 90 * sim.Millisecond}
	quickTimes = times{joins: 10 * sim.Millisecond, end: 30 * sim.Millisecond}
)

const (
	paths    = 4
	pathRate = 10.0 // Gb/s
	bin      = sim.Millisecond
	// burst is how long after its start the initial window of the single-path
	// connection stands in the queue of its path: it comes at the speed of the NIC,
	// four times that of the path.
	burst = 15 * sim.Microsecond
)

// A moment is one sample of the experiment: what MP-RDMA sends to each path, the
// contested one last, and what the other connection sends, all with headers.
type moment struct {
	at       sim.Time
	multi    [paths]float64
	singular float64
}

// A contest is one run.
type contest struct{ moments []moment }

// watch runs the experiment. The paper forces its single-path connection onto
// path 4; here it takes the path that ECMP gives it, which the paths' numbers
// follow: the contested one becomes path 4.
func watch(ctx context.Context, t times, seed uint64, account *testbed.Account) (*contest, error) {
	rig, err := testbed.Start(scenarioFile,
		fmt.Sprint("seed=", seed), fmt.Sprintf("duration=%dps", t.end), fmt.Sprintf("workload[1].start=%dps", t.joins))
	if err != nil {
		return nil, err
	}
	before, err := rig.Series(ctx, t.joins, bin)
	if err != nil {
		return nil, err
	}
	if err := rig.Until(ctx, t.joins+burst); err != nil {
		return nil, err
	}
	contested := 0
	for p := range paths {
		if rig.Path(p).Queue > rig.Path(contested).Queue {
			contested = p
		}
	}
	after, err := rig.Series(ctx, t.end, bin)
	if err != nil {
		return nil, err
	}
	account.Book(rig)
	path := rig.Path(contested)
	headers := float64(path.Bytes) / float64(path.Packets) / float64(rig.Scenario.Fabric.MTU)
	c := &contest{}
	for _, s := range append(before, after...) {
		c.moments = append(c.moments, tell(s, contested, headers))
	}
	return c, nil
}

// tell divides what was sent to the contested path among the connections.
// headers is the size of a packet over its payload.
func tell(s testbed.Sample, contested int, headers float64) moment {
	m := moment{at: s.At, singular: s.Flows[1] * headers}
	place := 0
	for p, rate := range s.Paths {
		if p == contested {
			// Acknowledgements come a little later than what they acknowledge.
			m.multi[paths-1] = max(0, rate-m.singular)
			continue
		}
		m.multi[place] = rate
		place++
	}
	return m
}

// mean is what MP-RDMA sends to a path, counted from 0, on average in a time.
func (c *contest) mean(path int, from, to sim.Time) float64 {
	var rates []float64
	for _, m := range c.moments {
		if m.at > from && m.at <= to {
			rates = append(rates, m.multi[path])
		}
	}
	return testbed.Mean(rates)
}

// leaving is when MP-RDMA first had less than a tenth of the contested path,
// after the other connection had come.
func (c *contest) leaving(t times) sim.Time {
	for _, m := range c.moments {
		if m.at > t.joins+bin && m.multi[paths-1] < pathRate/10 {
			return m.at - t.joins
		}
	}
	return t.end
}
