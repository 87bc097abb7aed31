package fluid

import "math"

// A history remembers one link's queue and its slope at the last steps, as far
// back as the link's marks take to reach the senders.
type history struct {
	delay float64 // R*_j in steps
	queue []float64
	slope []float64 // packets per step
	last  int       // the newest step that is remembered
	first float64   // the queue at step zero and before
}

// newHistory makes a history for a delay in steps. It never needs more entries
// than there are steps.
func newHistory(delay float64, steps int, queue float64) *history {
	size := int(min(math.Ceil(delay)+3, float64(steps)+1))
	return &history{
		delay: delay,
		queue: make([]float64, size),
		slope: make([]float64, size),
		last:  -1,
		first: queue,
	}
}

// add appends the next step.
func (h *history) add(queue, slope float64) {
	h.last++
	at := h.last % len(h.queue)
	h.queue[at], h.slope[at] = queue, slope
}

// delayed is the queue one delay before a time that is given in steps. The time
// may be up to one step beyond the last one added, since no delay is shorter.
func (h *history) delayed(step float64) float64 {
	when := step - h.delay
	if when <= 0 {
		return h.first
	}
	before := int(when)
	if before >= h.last {
		return h.queue[h.last%len(h.queue)]
	}
	a, b := before%len(h.queue), (before+1)%len(h.queue)
	return hermite(h.queue[a], h.slope[a], h.queue[b], h.slope[b], when-float64(before))
}

// hermite is the cubic through two values with two slopes, x from 0 to 1. Its
// error is of order four in the step, like that of the integration.
func hermite(value0, slope0, value1, slope1, x float64) float64 {
	y := 1 - x
	return y*y*((1+2*x)*value0+x*slope0) + x*x*((1+2*y)*value1-y*slope1)
}
