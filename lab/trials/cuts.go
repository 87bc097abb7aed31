package trials

import (
	"fmt"
	"time"

	"github.com/braid-rdma/braid/lab"
	"github.com/braid-rdma/braid/lab/traffic"
)

const (
	// cutStep is the time between two events of the trial.
	cutStep = 2 * time.Second
	// settled is when a connection is to have found its new rate.
	settled = time.Second
	// reachWindow is the time over which a rate counts as reached.
	reachWindow = 200 * time.Millisecond
	// longestStall is what a cut path may cost.
	longestStall = 100 * time.Millisecond
)

// cutScript cuts paths one by one and restores them one by one.
func cutScript(paths int) (events []event, length time.Duration) {
	at := cutStep
	for path := range paths {
		events = append(events, event{at, fmt.Sprintf("path %d is cut", path), func(n *lab.Network) error { return n.Cut(path, lab.Both) }})
		at += cutStep
	}
	for path := range paths {
		events = append(events, event{at, fmt.Sprintf("path %d is restored", path), func(n *lab.Network) error { return n.Restore(path) }})
		at += cutStep
	}
	return events, at
}

// cutFindings are what a run of the script shows.
type cutFindings struct {
	stall    time.Duration // the longest after a cut
	left     float64       // the least goodput from one second after a cut on, of what is left
	restored time.Duration // the longest until a restored path is in full use
	full     bool          // it was, each time
}

// findCuts measures a run of the script that cuts a number of four paths of a rate.
func findCuts(r *traffic.Result, paths int, rate float64) cutFindings {
	f := cutFindings{left: 1, full: true}
	at := r.Began + cutStep
	for cut := 1; cut <= paths; cut++ {
		capacity := float64(4-cut) * rate
		f.stall = max(f.stall, r.Record.LongestStall(at, at+cutStep))
		f.left = min(f.left, r.Record.Goodput(at+settled, at+cutStep)/capacity)
		at += cutStep
	}
	for back := 1; back <= paths; back++ {
		capacity := float64(4-paths+back) * rate
		after, ok := r.Record.FirstReach(at, at+cutStep, reachWindow, wanted*capacity)
		f.restored, f.full = max(f.restored, after), f.full && ok
		at += cutStep
	}
	return f
}

// runCuts cuts three of four paths one after the other, and restores them.
func runCuts(s *session) error {
	paths := 3
	if s.Quick {
		paths = 1
	}
	events, length := cutScript(paths)
	if err := s.pair(); err != nil {
		return err
	}
	var results []*traffic.Result
	stalls, lefts, backs := []string{"longest stall after a cut"}, []string{"used from 1 s after a cut on, of what is left"}, []string{"95 % in use after a restoration"}
	for _, kind := range s.Kinds {
		r, err := s.best(func() (*traffic.Result, error) { return s.play(kind, 0, length, events...) })
		if err != nil {
			return err
		}
		results = append(results, r)
		f := findCuts(r, paths, s.rate())
		stalls = append(stalls, orFailed(r, milliseconds(f.stall)))
		if singlePath(kind) {
			lefts, backs = append(lefts, "-"), append(backs, "-")
			continue
		}
		lefts = append(lefts, fmt.Sprintf("%.0f %%", 100*f.left))
		backs = append(backs, reached(f))
		if kind == traffic.MP {
			s.judgeCuts(f)
		}
	}
	s.outcome.Grid.Columns = s.kindColumns("")
	s.outcome.Grid.add(stalls...)
	s.outcome.Grid.add(lefts...)
	s.outcome.Grid.add(backs...)
	s.judgeIntact(results...)
	s.outcome.Note("RC and TCP have one path, which is the first to be cut and the first to be restored")
	var marks []time.Duration
	for _, e := range events {
		marks = append(marks, e.after)
	}
	s.addPlot("cuts", "Goodput while paths are cut and restored", timelines("Paths are cut and restored one by one", results, marks...))
	s.outcome.Data = append(s.outcome.Data, timelineData("cuts", results))
	return nil
}

// reached writes when restored paths were in use again.
func reached(f cutFindings) string {
	if !f.full {
		return "not within " + milliseconds(cutStep)
	}
	return milliseconds(f.restored)
}

func (s *session) judgeCuts(f cutFindings) {
	s.judge("braid MP: longest stall after a cut", "ms", float64(f.stall)/1e6, s.atMost(float64(longestStall)/1e6), "")
	s.judge("braid MP: goodput from 1 s after a cut on, of the paths that are left", "", f.left, s.atLeast(wanted), "")
	s.judge("braid MP: time until a restored path is in full use", "ms", float64(f.restored)/1e6, s.atMost(float64(settled)/1e6), "")
}
