package perf

import (
	"fmt"

	"github.com/braid-rdma/braid/internal/control"
)

// FlowPair is what became of the flows from one server to another.
type FlowPair struct {
	From             string        `json:"from"`
	To               string        `json:"to"`
	Flows            uint64        `json:"flows"`
	Bytes            uint64        `json:"bytes"`
	GoodputGbps      float64       `json:"goodput_gbps"` // while From sent
	CompletionMicros LatencyMicros `json:"fct_us"`
}

// atLimitShare is the share of a limit from which on it is what decides.
const atLimitShare = 0.9

// result puts together what the servers report.
func (r *meshRun) result() (*FlowResult, error) {
	spec := r.spec
	sum := &FlowResult{
		Schema: FlowSchema, AllToAll: true, Op: spec.Connection.Op, Model: spec.Sizes.Name(), Loop: "closed",
		OfferedGbps: spec.Rate * float64(len(r.hosts)) / 1e9, OnSeconds: spec.On.Seconds(), OffSeconds: spec.Off.Seconds(),
		Depth: spec.Connection.QPs, Seed: spec.Seed,
		Classes: []FlowClass{}, QP: spec.Connection.QP, Policy: spec.Connection.Policy, CC: spec.Connection.CC,
	}
	if spec.Rate > 0 {
		sum.Loop = "open"
	}
	for _, h := range r.hosts {
		sum.Servers = append(sum.Servers, FlowServer{Address: h.Address})
	}
	all := newTally()
	for i, h := range r.hosts {
		if h.report == nil {
			sum.Missing = append(sum.Missing, h.Address)
			continue
		}
		if err := sum.take(r, i, all); err != nil {
			return nil, named(h.Address, err)
		}
	}
	if sum.DurationSeconds == 0 {
		return sum, nil
	}
	sum.Unfinished, sum.Waiting, sum.TurnedAway = all.unfinished, all.waiting, all.turnedAway
	sum.takeClasses(all)
	for i := range sum.Servers {
		s := &sum.Servers[i]
		s.GoodputGbps = float64(s.Bytes) * 8 / sum.DurationSeconds / 1e9
		sum.GoodputGbps += s.GoodputGbps
	}
	return sum, nil
}

// take takes in the report of a server, which may be anything.
func (r *FlowResult) take(run *meshRun, from int, all *tally) error {
	sender := run.hosts[from]
	own := &sender.report.Result
	if len(own.Servers) != len(run.hosts)-1 {
		return fmt.Errorf("%w: it reports on %d hosts, not %d", control.ErrProtocol, len(own.Servers), len(run.hosts)-1)
	}
	if err := all.add(&sender.report.Tally); err != nil {
		return err
	}
	for i, pair := range own.Servers {
		to := i
		if to >= from {
			to++ // who sends is not among its targets
		}
		receiver := &r.Servers[to]
		receiver.Flows += pair.Flows
		receiver.Bytes += pair.Bytes
		r.Pairs = append(r.Pairs, FlowPair{
			From: sender.Address, To: receiver.Address,
			Flows: pair.Flows, Bytes: pair.Bytes, GoodputGbps: pair.GoodputGbps, CompletionMicros: orZero(pair.CompletionMicros),
		})
	}
	if limit := sender.report.Limit / 1e9; own.GoodputGbps > atLimitShare*limit {
		r.AtLimit = append(r.AtLimit, fmt.Sprintf("%s: %g Gb/s", sender.Address, limit))
	}
	r.DurationSeconds = max(r.DurationSeconds, own.DurationSeconds)
	r.Retransmits += own.Retransmits
	if own.Spurious != nil {
		if r.Spurious == nil {
			r.Spurious = new(uint64)
		}
		*r.Spurious += *own.Spurious
	}
	r.Paths = max(r.Paths, own.Paths)
	if r.MTU == 0 || own.MTU < r.MTU {
		r.MTU = own.MTU
	}
	r.Interrupted = r.Interrupted || own.Interrupted
	return nil
}

func orZero(l *LatencyMicros) LatencyMicros {
	if l == nil {
		return LatencyMicros{}
	}
	return *l
}
