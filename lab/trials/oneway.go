package trials

import (
	"context"
	"fmt"
	"time"

	"github.com/braid-rdma/braid/lab"
	"github.com/braid-rdma/braid/lab/traffic"
)

// flapPeriod is how long a flapping path takes for being cut and whole again:
// long enough to be used again in each turn.
const flapPeriod = 500 * time.Millisecond

// flapTime is how long it flaps.
const flapTime = 3 * time.Second

// runOneWay cuts a path for data alone, then for acknowledgements alone, and then
// lets it flap.
func runOneWay(s *session) error {
	if err := s.pair(); err != nil {
		return err
	}
	cut := func(d lab.Direction) func(*lab.Network) error {
		return func(n *lab.Network) error { return n.Cut(0, d) }
	}
	restore := func(n *lab.Network) error { return n.Restore(0) }
	events := []event{
		{cutStep, "path 0 is cut forward", cut(lab.Forward)},
		{2 * cutStep, "path 0 is restored", restore},
		{3 * cutStep, "path 0 is cut backward", cut(lab.Backward)},
		{4 * cutStep, "path 0 is restored", restore},
		{5 * cutStep, "path 0 flaps", func(n *lab.Network) error {
			ctx, cancel := context.WithTimeout(s.ctx, flapTime)
			defer cancel()
			return n.Flap(ctx, 0, flapPeriod)
		}},
	}
	length := 5*cutStep + flapTime
	names := []string{"cut for data: longest stall", "cut for acknowledgements: longest stall", "flapping: longest stall", "flapping: goodput, Gb/s"}
	rows := make([][]string, len(names))
	for i := range rows {
		rows[i] = []string{names[i]}
	}
	var results []*traffic.Result
	for _, kind := range s.Kinds {
		r, err := s.best(func() (*traffic.Result, error) { return s.play(kind, 0, length, events...) })
		if err != nil {
			return err
		}
		results = append(results, r)
		stalls := s.oneWayStalls(r)
		for i, stall := range stalls {
			rows[i] = append(rows[i], orFailed(r, milliseconds(stall)))
		}
		flapping := r.Record.Goodput(r.Began+5*cutStep, r.Ended)
		rows[3] = append(rows[3], gigabits(flapping))
		if kind == traffic.MP {
			// Three paths are whole all the time.
			s.judge("braid MP: goodput while one of four paths flaps, of the three others", "", flapping/(3*s.rate()), s.atLeast(0.9), "")
		}
	}
	s.outcome.Grid.Columns = s.kindColumns("")
	for _, row := range rows {
		s.outcome.Grid.add(row...)
	}
	s.judgeIntact(results...)
	s.outcome.Note(fmt.Sprintf("the path flaps with a period of %v; RC and TCP have this path only", flapPeriod))
	s.addPlot("oneway", "Goodput while a path is cut in one direction, and while it flaps",
		timelines("Cut forward, cut backward, flapping", results, cutStep, 2*cutStep, 3*cutStep, 4*cutStep, 5*cutStep))
	s.outcome.Data = append(s.outcome.Data, timelineData("oneway", results))
	return nil
}

// oneWayStalls are the longest stalls of the three parts of the trial.
func (s *session) oneWayStalls(r *traffic.Result) [3]time.Duration {
	stalls := [3]time.Duration{
		r.Record.LongestStall(r.Began+cutStep, r.Began+2*cutStep),
		r.Record.LongestStall(r.Began+3*cutStep, r.Began+4*cutStep),
		r.Record.LongestStall(r.Began+5*cutStep, r.Ended),
	}
	if r.Kind == traffic.MP {
		for i, what := range []string{"a cut for data alone", "a cut for acknowledgements alone", "flapping"} {
			s.judge("braid MP: longest stall by "+what, "ms", float64(stalls[i])/1e6, s.atMost(float64(longestStall)/1e6), "")
		}
	}
	return stalls
}
