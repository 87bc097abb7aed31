package fluid

import "fmt"

// Solve integrates the model from its initial windows and queues over the
// configured duration. It fails with [ErrConfig], [ErrStep], [ErrTooLarge] or
// [ErrDiverged]. A solution that keeps oscillating is no failure: see
// [Steady.Settled].
func Solve(cfg Config) (*Result, error) {
	cfg = cfg.withDefaults()
	if err := cfg.checkNetwork(); err != nil {
		return nil, err
	}
	if err := cfg.checkRun(); err != nil {
		return nil, err
	}
	s := newSolver(&cfg)
	if err := s.checkState(0); err != nil {
		return nil, err
	}
	tail := newTail(s.model)
	steps := int(cfg.steps())
	tailStart := steps - int(cfg.Tail/cfg.Step)
	trajectory := newTrajectory(&cfg)
	for n := 0; ; n++ {
		seen := s.observe()
		trajectory.add(n, &seen)
		if n >= tailStart {
			tail.add(s.model.windows(s.state), &seen)
		}
		if n == steps {
			break
		}
		if err := s.step(n); err != nil {
			return nil, err
		}
	}
	return &Result{
		Equilibrium:  s.fixed,
		FeedbackRTTs: s.delays,
		Steady:       tail.steady(),
		Trajectory:   trajectory.samples,
		Step:         cfg.Step,
		Steps:        steps,
		model:        s.model,
	}, nil
}

// A solver holds the state between two steps and the scratch of one step.
type solver struct {
	model     *model
	fixed     Equilibrium
	delays    []float64 // R*_j in seconds
	stepTime  float64   // seconds
	state     []float64
	histories []*history

	slopes [4][]float64
	stage  []float64
	marked []float64
	cwnd   []float64
	load   []float64
}

func newSolver(cfg *Config) *solver {
	m := newModel(cfg)
	s := &solver{
		model:    m,
		fixed:    fixedPoint(m),
		stepTime: cfg.Step.Seconds(),
		state:    m.initialState(cfg),
		marked:   make([]float64, len(m.links)),
		cwnd:     make([]float64, len(m.count)),
		load:     make([]float64, len(m.links)),
	}
	s.stage = make([]float64, len(s.state))
	for k := range s.slopes {
		s.slopes[k] = make([]float64, len(s.state))
	}
	for j, queue := range m.queues(s.state) {
		// §3.2.1: R* = d + average queue/C.
		delay := s.fixed.Links[j].RTTSeconds
		if given := cfg.Links[j].FeedbackRTT; given != 0 {
			delay = given.Seconds()
		}
		s.delays = append(s.delays, delay)
		s.histories = append(s.histories, newHistory(delay/s.stepTime, int(cfg.steps()), queue))
	}
	return s
}

// step advances the state from step n to n+1 by the classical Runge-Kutta
// scheme of order four.
func (s *solver) step(n int) error {
	at, h := float64(n), s.stepTime
	m, k := s.model, &s.slopes
	s.slopeAt(at, s.state, k[0])
	for j, queue := range m.queues(s.state) {
		s.histories[j].add(queue, m.queues(k[0])[j]*h)
	}
	s.slopeAt(at+0.5, s.ahead(k[0], h/2), k[1])
	s.slopeAt(at+0.5, s.ahead(k[1], h/2), k[2])
	s.slopeAt(at+1, s.ahead(k[2], h), k[3])
	for v := range s.state {
		s.state[v] += h / 6 * (k[0][v] + 2*k[1][v] + 2*k[2][v] + k[3][v])
	}
	queues := m.queues(s.state)
	for j := range queues {
		queues[j] = max(0, queues[j]) // a queue that ran empty within the step
	}
	return s.checkState(n + 1)
}

// slopeAt evaluates the equations at a time in steps. The marks that arrive
// then left the switch one R* earlier.
func (s *solver) slopeAt(at float64, state, slope []float64) {
	for j := range s.model.links {
		queue := s.model.queues(state)[j]
		if !s.model.immediate {
			queue = s.histories[j].delayed(at)
		}
		s.marked[j] = s.model.links[j].marking.Probability(queue)
	}
	s.model.slope(state, s.marked, slope)
}

// ahead is the state followed along a slope for some time.
func (s *solver) ahead(slope []float64, time float64) []float64 {
	for v, value := range s.state {
		s.stage[v] = value + time*slope[v]
	}
	return s.stage
}

// checkState finds a solution that the equations rule out (by (6) windows stay
// above zero), and one that the scheme cannot follow: by (7) and (8) a queue
// relaxes at the speed load/(C R^2), which windows far beyond what the link
// holds make shorter than a step.
func (s *solver) checkState(n int) error {
	m := s.model
	for i, window := range m.windows(s.state) {
		if !positive(window) {
			return fmt.Errorf("%w: window of path %d is %v at step %d", ErrDiverged, i, window, n)
		}
	}
	m.sum(s.state, s.cwnd, s.load)
	for j, queue := range m.queues(s.state) {
		link := &m.links[j]
		rtt := link.rtt(queue)
		relaxed := s.stepTime * s.load[j] / (link.capacity * rtt * rtt)
		if !finite(queue) || !(relaxed <= maxRelaxationPerStep) {
			return fmt.Errorf("%w: at step %d link %d has %v packets and a queue of %v, too fast for Step; try a shorter one",
				ErrDiverged, n, j, s.load[j], queue)
		}
	}
	return nil
}
