package mprdma16

import (
	"context"
	"fmt"
	"slices"

	"github.com/braid-rdma/braid/experiments/figures/testbed"
	"github.com/braid-rdma/braid/sim"
)

const (
	connections = 8
	// linkGoodput is the payload that the link carries, in bits per second: what
	// headers of about 11 % leave of 40 Gb/s. It only decides how many bytes the
	// connections have, and so roughly when they leave.
	linkGoodput = 36e9
	// receiver is the host to which all connections lead.
	receiver = "h2"
	// bins is how many samples there are between two arrivals.
	bins = 50
)

// A history is one run.
type history struct {
	step     sim.Time
	bin      sim.Time
	samples  []testbed.Sample
	finished []sim.Time // by connection
	headers  float64    // the size of a packet on the wire over its payload
}

// concurrent is how many connections share the link in the k-th interval if all
// get their fair share: 1 to 8 and back to 1.
func concurrent(k int) int { return min(k+1, 2*connections-1-k) }

// share is how many bytes connection i transfers from its arrival in interval i
// to its departure eight intervals later.
func share(i int, step sim.Time) int64 {
	perInterval := linkGoodput / 8 * step.Seconds()
	bytes := 0.0
	for k := i; k < i+connections; k++ {
		bytes += perInterval / float64(concurrent(k))
	}
	return int64(bytes)
}

// watch runs the experiment.
func watch(ctx context.Context, step sim.Time, seed uint64, account *testbed.Account) (*history, error) {
	end := 20 * step // it is over after 15, if every share is fair
	overrides := []string{fmt.Sprint("seed=", seed), fmt.Sprintf("duration=%dps", end)}
	for i := range connections {
		overrides = append(overrides,
			fmt.Sprintf("workload[%d].start=%dps", i, sim.Time(i)*step),
			fmt.Sprintf("workload[%d].bytes=%d", i, share(i, step)))
	}
	rig, err := testbed.Start(scenarioFile, overrides...)
	if err != nil {
		return nil, err
	}
	h := &history{step: step, bin: step / bins}
	if h.samples, err = rig.Series(ctx, end, h.bin); err != nil {
		return nil, err
	}
	for _, f := range rig.Flows {
		r := f.Result()
		if !r.Done() {
			return nil, fmt.Errorf("connection %d has not ended by %v: %w", f.Number, end, errUnfinished)
		}
		h.finished = append(h.finished, r.Finished)
	}
	link, _ := rig.Net.LinkNumber("tor0", receiver)
	wire := rig.Net.Link(link)
	h.headers = float64(wire.Bytes) / float64(wire.Packets) / float64(rig.Scenario.Fabric.MTU)
	account.Book(rig)
	return h, nil
}

// A plateau is a time in which the number of connections stays the same.
type plateau struct {
	from, to sim.Time
	active   []int // connections
}

// plateaus cuts the history at arrivals and departures.
func (h *history) plateaus() []plateau {
	var events []sim.Time
	for i, end := range h.finished {
		events = append(events, h.started(i), end)
	}
	slices.Sort(events)
	var all []plateau
	for e := range events[1:] {
		p := plateau{from: events[e], to: events[e+1]}
		for i := range h.finished {
			if h.started(i) <= p.from && h.finished[i] >= p.to {
				p.active = append(p.active, i)
			}
		}
		all = append(all, p)
	}
	return all
}

func (h *history) started(i int) sim.Time { return sim.Time(i) * h.step }
