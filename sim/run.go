package sim

// Run lets the simulation happen up to, and without, the instant end, or until
// nothing is left. It reports whether anything is left.
func (n *Network) Run(end Time) bool {
	n.arrange()
	n.running = true
	defer func() { n.running = false }()
	left := false
	if len(n.shards) == 1 {
		n.shards[0].run(end)
		left = n.shards[0].events.peek() != never
	} else {
		left = n.runDivided(end)
	}
	// What a program does next happens at the end of the run, and not when the
	// last event before it happened.
	if end != never {
		n.end = end
		for _, s := range n.shards {
			s.now = max(s.now, end)
		}
	}
	return left
}

// step lets one event happen, and reports whether there was one. Called from
// within an event it does nothing. It needs a single worker.
func (n *Network) step() bool {
	if n.running || n.cfg.Workers > 1 {
		return false
	}
	n.undivide()
	n.arrange()
	s := n.shards[0]
	e := s.events.take(never)
	if e == nil {
		return false
	}
	n.running = true
	s.now = s.events.now
	s.happened++
	e.happen()
	n.running = false
	return true
}
