package fluid

import "math"

// settledSwing is the swing, as a part of the mean, below which a quantity is
// said to stand still.
const settledSwing = 1e-3

// Steady is the average over the tail of the trajectory.
type Steady struct {
	Groups []GroupSteady
	Links  []LinkSteady

	// Settled says that no window and no queue in use swung by more than a
	// thousandth of its mean. Under DCTCP marking the model ends in a limit
	// cycle instead, as §3.2.1 says, and QueueLow and QueueHigh tell its size.
	Settled bool
}

// A GroupSteady describes one connection of a group.
type GroupSteady struct {
	Window            float64 // cwnd in packets
	WindowLow         float64
	WindowHigh        float64
	RateBitsPerSecond float64
	PathWindows       []float64 // w_i, by virtual path
	PathRates         []float64 // bits per second, by virtual path
}

// A LinkSteady describes one link.
type LinkSteady struct {
	Used              bool // some virtual path is mapped to the link
	Queue             float64
	QueueLow          float64
	QueueHigh         float64
	MarkingRatio      float64 // marked packets to all packets
	RateBitsPerSecond float64 // carried, by all connections together
	Utilisation       float64 // carried rate to the link's
}

// A tail gathers the sums behind Steady, step by step.
type tail struct {
	model *model
	steps float64
	sums  Steady

	arrived, marked []float64 // packets per second, by link
}

func newTail(m *model) *tail {
	t := &tail{
		model:   m,
		arrived: make([]float64, len(m.links)),
		marked:  make([]float64, len(m.links)),
	}
	for g := range m.count {
		paths := m.firstPath[g+1] - m.firstPath[g]
		t.sums.Groups = append(t.sums.Groups, GroupSteady{
			WindowLow:   math.Inf(1),
			WindowHigh:  math.Inf(-1),
			PathWindows: make([]float64, paths),
			PathRates:   make([]float64, paths),
		})
	}
	for j := range m.links {
		t.sums.Links = append(t.sums.Links, LinkSteady{
			Used:      m.reached(j),
			QueueLow:  math.Inf(1),
			QueueHigh: math.Inf(-1),
		})
	}
	return t
}

func (t *tail) add(windows []float64, o *observation) {
	t.steps++
	for j := range t.sums.Links {
		link, queue := &t.sums.Links[j], o.queues[j]
		link.Queue += queue
		link.QueueLow, link.QueueHigh = min(link.QueueLow, queue), max(link.QueueHigh, queue)
		link.RateBitsPerSecond += o.leaving(j) * o.packetBits
		t.arrived[j] += o.arriving(j)
		t.marked[j] += o.arriving(j) * o.marking(j)
	}
	for g := range t.sums.Groups {
		group := &t.sums.Groups[g]
		group.Window += o.cwnd[g]
		group.WindowLow, group.WindowHigh = min(group.WindowLow, o.cwnd[g]), max(group.WindowHigh, o.cwnd[g])
		first := t.model.firstPath[g]
		for i := range group.PathWindows {
			window, j := windows[first+i], t.model.paths[first+i].link
			group.PathWindows[i] += window
			group.PathRates[i] += window / o.links[j].rtt(o.queues[j]) * o.packetBits
		}
	}
}

// steady turns the sums into averages. It is called once, after the last step.
func (t *tail) steady() Steady {
	s := &t.sums
	s.Settled = true
	for g := range s.Groups {
		group := &s.Groups[g]
		group.Window /= t.steps
		for i := range group.PathWindows {
			group.PathWindows[i] /= t.steps
			group.PathRates[i] /= t.steps
			group.RateBitsPerSecond += group.PathRates[i]
		}
		if group.WindowHigh-group.WindowLow > settledSwing*group.Window {
			s.Settled = false
		}
	}
	for j := range s.Links {
		link := &s.Links[j]
		link.Queue /= t.steps
		link.RateBitsPerSecond /= t.steps
		link.Utilisation = link.RateBitsPerSecond / (t.model.links[j].capacity * t.model.packetBits)
		if t.arrived[j] > 0 {
			link.MarkingRatio = t.marked[j] / t.arrived[j]
		}
		if link.Used && link.QueueHigh-link.QueueLow > settledSwing*link.Queue {
			s.Settled = false
		}
	}
	return *s
}
