package fluid

import "time"

// A Sample is the model at one moment.
type Sample struct {
	Seconds       float64
	Windows       []float64 // cwnd of a connection, by group
	Queues        []float64 // packets, by link
	MarkingRatios []float64 // what the switch marks at this moment, by link
	Rates         []float64 // bits per second that arrive at the queue, by link
}

// sampleValues counts the numbers of a Sample.
func sampleValues(groups, links int) int { return 1 + groups + 3*links }

// An observation is what can be seen of a state. Its slices belong to the
// solver and hold until the next step.
type observation struct {
	cwnd, queues, load []float64
	links              []modelLink
	packetBits         float64
}

func (s *solver) observe() observation {
	s.model.sum(s.state, s.cwnd, s.load)
	return observation{
		cwnd:       s.cwnd,
		queues:     s.model.queues(s.state),
		load:       s.load,
		links:      s.model.links,
		packetBits: s.model.packetBits,
	}
}

func (o *observation) marking(link int) float64 {
	return o.links[link].marking.Probability(o.queues[link])
}

// arriving is the first term of eq. (7), in packets per second.
func (o *observation) arriving(link int) float64 {
	return o.load[link] / o.links[link].rtt(o.queues[link])
}

// leaving is what the link carries, in packets per second: all it can while
// packets wait.
func (o *observation) leaving(link int) float64 {
	if o.queues[link] > 0 {
		return o.links[link].capacity
	}
	return min(o.arriving(link), o.links[link].capacity)
}

// A trajectory takes samples at steady intervals.
type trajectory struct {
	samples  []Sample
	stepTime time.Duration
	every    int // steps between samples
}

func newTrajectory(cfg *Config) *trajectory {
	every := int(cfg.SampleEvery / cfg.Step)
	return &trajectory{
		samples:  make([]Sample, 0, int(cfg.steps())/every+1),
		stepTime: cfg.Step,
		every:    every,
	}
}

// add records the state of a step that is due for a sample.
func (t *trajectory) add(step int, o *observation) {
	if step%t.every != 0 {
		return
	}
	groups, links := len(o.cwnd), len(o.queues)
	values := make([]float64, groups+3*links)
	sample := Sample{
		Seconds:       (time.Duration(step) * t.stepTime).Seconds(),
		Windows:       values[:groups:groups],
		Queues:        values[groups : groups+links : groups+links],
		MarkingRatios: values[groups+links : groups+2*links : groups+2*links],
		Rates:         values[groups+2*links:],
	}
	copy(sample.Windows, o.cwnd)
	copy(sample.Queues, o.queues)
	for j := range links {
		sample.MarkingRatios[j] = o.marking(j)
		sample.Rates[j] = o.arriving(j) * o.packetBits
	}
	t.samples = append(t.samples, sample)
}
