package fluid

import (
	"math"
	"time"
)

// A Result is a solved problem.
type Result struct {
	Equilibrium Equilibrium // the closed form
	Steady      Steady      // the end of the trajectory, averaged
	Trajectory  []Sample
	Step        time.Duration
	Steps       int

	// FeedbackRTTs are the R*_j that the marks were delayed by, in seconds.
	// Immediate feedback did not use them.
	FeedbackRTTs []float64

	model *model
}

// MarkingSpread checks the claim of §3.2.1 that all paths are marked alike: the
// difference between the highest and the lowest marking ratio of the links in
// use, as a part of their mean. Zero is perfect balance. It is also zero when
// nothing at all was marked, which the links of Steady show.
func (r *Result) MarkingSpread() float64 {
	low, high, sum, used := math.Inf(1), math.Inf(-1), 0.0, 0.0
	for _, link := range r.Steady.Links {
		if !link.Used {
			continue
		}
		low, high = min(low, link.MarkingRatio), max(high, link.MarkingRatio)
		sum += link.MarkingRatio
		used++
	}
	if sum == 0 {
		return 0
	}
	return (high - low) / (sum / used)
}

// FixedPointError checks the other claim of §3.2.1, that a path's marking ratio
// is F = 2/(cwnd+2): the largest deviation of any group, as a part of that F.
// Within a group a path counts by its share of the window, so one that the
// group has left weighs nothing.
func (r *Result) FixedPointError() float64 {
	worst := 0.0
	for g, group := range r.Steady.Groups {
		expected, deviation := MarkingAt(group.Window), 0.0
		for i, window := range group.PathWindows {
			link := r.model.paths[r.model.firstPath[g]+i].link
			share := window / group.Window
			deviation += share * math.Abs(r.Steady.Links[link].MarkingRatio-expected) / expected
		}
		worst = max(worst, deviation)
	}
	return worst
}
