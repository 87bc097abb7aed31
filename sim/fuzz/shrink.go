package fuzz

import "slices"

// maxShrinkRuns and maxShrinkEvents bound the work of Shrink: a run that does not
// end takes long.
const (
	maxShrinkRuns   = 400
	maxShrinkEvents = 20_000_000
)

// Shrink cuts a failing scenario down while it still breaks a promise, and
// returns the smallest failure that it finds: fewer talks, fewer faults, fewer
// and shorter operations, a plainer network. It is deterministic. What breaks may
// be another promise than before; that is a bug as well.
func Shrink(f *Failure) *Failure {
	if f.sc.fabric == nil {
		return f
	}
	s := &shrinker{best: f}
	for improved := true; improved && !s.tired(); {
		improved = s.dropTalks() || s.dropChats() || s.dropChannels() || s.dropFaults() || s.dropStreamFaults() || s.dropCommands() || s.dropOperations() || s.dropMessages() || s.simplify()
	}
	return s.best
}

// shrinker looks for smaller scenarios that fail.
type shrinker struct {
	best   *Failure
	runs   int
	events uint64 // of runs that failed; the others are short
}

func (s *shrinker) tired() bool { return s.runs >= maxShrinkRuns || s.events >= maxShrinkEvents }

// try runs a changed copy of the best scenario and keeps it if it fails.
func (s *shrinker) try(change func(*scenario) bool) bool {
	if s.tired() {
		return false
	}
	sc := s.best.sc.clone()
	if !change(sc) {
		return false
	}
	s.runs++
	f := run(sc, s.best.plant)
	if f == nil {
		return false
	}
	s.events += f.Event
	f.plant = s.best.plant
	s.best = f
	return true
}

// clone copies what the shrinker changes.
func (s *scenario) clone() *scenario {
	c := *s
	c.faults = slices.Clone(s.faults)
	c.talks, c.chats = slices.Clone(s.talks), slices.Clone(s.chats)
	for _, e := range c.everyEnd() {
		e.ops = slices.Clone(e.ops)
	}
	c.cloneChannels()
	c.cloneMock()
	return &c
}

func (s *shrinker) dropTalks() (improved bool) {
	for i := len(s.best.sc.talks) - 1; i >= 0; i-- {
		improved = s.try(func(c *scenario) bool {
			c.talks = slices.Delete(c.talks, i, i+1)
			return c.connections() > 0
		}) || improved
	}
	return improved
}

func (s *shrinker) dropChats() (improved bool) {
	for i := len(s.best.sc.chats) - 1; i >= 0; i-- {
		improved = s.try(func(c *scenario) bool {
			c.chats = slices.Delete(c.chats, i, i+1)
			return c.connections() > 0
		}) || improved
	}
	return improved
}

func (s *shrinker) dropFaults() (improved bool) {
	for i := len(s.best.sc.faults) - 1; i >= 0; i-- {
		improved = s.try(func(c *scenario) bool {
			c.faults = slices.Delete(c.faults, i, i+1)
			return true
		}) || improved
	}
	return improved
}

// dropOperations removes ever smaller runs of operations.
func (s *shrinker) dropOperations() (improved bool) {
	for i := range s.best.sc.everyEnd() {
		size := func() int { return len(s.best.sc.everyEnd()[i].ops) }
		for run := size(); run > 0; run /= 2 {
			for at := size() - run; at >= 0; at -= run {
				improved = s.try(func(c *scenario) bool {
					e := c.everyEnd()[i]
					if at+run > len(e.ops) {
						return false
					}
					e.ops = slices.Delete(e.ops, at, at+run)
					return true
				}) || improved
			}
		}
	}
	return improved
}

// simplify takes away what makes a scenario hard to read.
func (s *shrinker) simplify() (improved bool) {
	changes := []func(*scenario) bool{
		func(c *scenario) bool { was := c.config.Wire; c.config.Wire = false; return was },
		func(c *scenario) bool {
			was := c.config.Switch.Marking.Kmax
			c.config.Switch.Marking.Kmin, c.config.Switch.Marking.Kmax = 0, 0
			return was != 0
		},
		func(c *scenario) bool {
			was := c.config.Switch.PFC.On
			c.config.Switch.PFC.On = false
			return was
		},
		func(c *scenario) bool {
			was := c.config.Switch.Weights
			c.config.Switch.Weights = nil
			return was != nil
		},
		func(c *scenario) bool { return c.unshare() },
		func(c *scenario) bool { return c.ungate() },
		func(c *scenario) bool { return c.halveLengths() },
		func(c *scenario) bool { return c.hasten() },
		func(c *scenario) bool { return c.calm() },
		func(c *scenario) bool { return c.forbidMock() },
		func(c *scenario) bool { return c.unfilter() },
		func(c *scenario) bool { return c.halveMessages() },
		func(c *scenario) bool { return c.hastenMessages() },
		func(c *scenario) bool { return c.part() },
		func(c *scenario) bool { return c.dropGoroutines() },
	}
	for _, change := range changes {
		improved = s.try(change) || improved
	}
	return improved
}

// unshare gives every talk receives and keys of its own.
func (s *scenario) unshare() (changed bool) {
	for i := range s.talks {
		t := &s.talks[i]
		changed = changed || t.shared
		t.shared = false
		for side := range t.ends {
			e := &t.ends[side]
			changed = changed || e.revoke != 0 || e.amid != 0
			e.revoke, e.amid = 0, 0
		}
	}
	return changed
}

// ungate lets every post happen without waiting for others.
func (s *scenario) ungate() (changed bool) {
	for _, e := range s.everyEnd() {
		for i := range e.ops {
			o := &e.ops[i]
			changed = changed || o.gated || o.wide || o.waits
			o.gated, o.wide, o.waits = false, false, false
		}
	}
	return changed
}

// halveLengths makes messages shorter.
func (s *scenario) halveLengths() (changed bool) {
	for _, e := range s.everyEnd() {
		for i := range e.ops {
			if o := &e.ops[i]; o.length > 16 {
				o.length /= 2
				changed = true
			}
		}
	}
	return changed
}

// hasten lets programs think less and faults end sooner.
func (s *scenario) hasten() (changed bool) {
	for _, e := range s.everyEnd() {
		for i := range e.ops {
			o := &e.ops[i]
			changed = changed || o.thinking > 0
			o.thinking = 0
		}
	}
	if s.mock != nil && s.mock.steady {
		return changed // it says how long faults last
	}
	for i := range s.faults {
		f := &s.faults[i]
		if f.until-f.from > 1000 {
			f.until -= (f.until - f.from) / 2
			changed = true
		}
	}
	return changed
}
