package fuzz

import "slices"

// connections counts what there is between hosts.
func (s *scenario) connections() int { return len(s.talks) + len(s.chats) + len(s.channels) }

// cloneChannels copies what the shrinker changes of channels.
func (s *scenario) cloneChannels() {
	s.channels, s.contexts = slices.Clone(s.channels), slices.Clone(s.contexts)
	for i := range s.channels {
		for side := range s.channels[i].ends {
			e := &s.channels[i].ends[side]
			e.threads = slices.Clone(e.threads)
			for j := range e.threads {
				e.threads[j] = slices.Clone(e.threads[j])
			}
		}
	}
	for i := range s.contexts {
		if f := s.contexts[i].filter; f != nil {
			clone := *f
			s.contexts[i].filter = &clone
		}
	}
}

func (s *shrinker) dropChannels() (improved bool) {
	for i := len(s.best.sc.channels) - 1; i >= 0; i-- {
		improved = s.try(func(c *scenario) bool {
			c.channels = slices.Delete(c.channels, i, i+1)
			for h := range c.contexts {
				if f := c.contexts[h].filter; f != nil && f.channel == i {
					c.contexts[h].filter = nil
				} else if f != nil && f.channel > i {
					f.channel--
				}
			}
			return c.connections() > 0
		}) || improved
	}
	return improved
}

// dropMessages removes ever smaller runs of what goroutines do.
func (s *shrinker) dropMessages() (improved bool) {
	for i := range s.best.sc.everyThread() {
		size := func() int { return len(*s.best.sc.everyThread()[i]) }
		for run := size(); run > 0; run /= 2 {
			for at := size() - run; at >= 0; at -= run {
				improved = s.try(func(c *scenario) bool {
					thread := c.everyThread()[i]
					if at+run > len(*thread) {
						return false
					}
					*thread = slices.Delete(*thread, at, at+run)
					return true
				}) || improved
			}
		}
	}
	return improved
}

// dropGoroutines removes those that do nothing.
func (s *scenario) dropGoroutines() (changed bool) {
	for i := range s.channels {
		for side := range s.channels[i].ends {
			e := &s.channels[i].ends[side]
			before := len(e.threads)
			e.threads = slices.DeleteFunc(e.threads, func(thread []messageSpec) bool { return len(thread) == 0 })
			changed = changed || len(e.threads) < before
		}
	}
	return changed
}

// calm lets no host die and nobody close in haste.
func (s *scenario) calm() (changed bool) {
	for i := range s.contexts {
		changed = changed || s.contexts[i].dies > 0
		s.contexts[i].dies = 0
	}
	for i := range s.channels {
		changed = changed || s.channels[i].hasty > 0 || s.channels[i].moves != nil || s.channels[i].sheltered > 0
		s.channels[i].hasty, s.channels[i].moves, s.channels[i].sheltered = 0, nil, 0
	}
	return changed
}

// part lets goroutines send one message at a time.
func (s *scenario) part() (changed bool) {
	for _, thread := range s.everyThread() {
		for i := range *thread {
			changed = changed || (*thread)[i].joined
			(*thread)[i].joined = false
		}
	}
	return changed
}

// unfilter takes filters away.
func (s *scenario) unfilter() (changed bool) {
	for i := range s.contexts {
		changed = changed || s.contexts[i].filter != nil
		s.contexts[i].filter = nil
	}
	return changed
}

// halveMessages makes the messages of channels shorter.
func (s *scenario) halveMessages() (changed bool) {
	for _, thread := range s.everyThread() {
		for i := range *thread {
			if m := &(*thread)[i]; m.length > 2*shortestCall || m.reply > 0 {
				m.length, m.reply = max(m.length/2, shortestCall), m.reply/2
				changed = true
			}
		}
	}
	return changed
}

// hastenMessages lets the programs of channels take less time.
func (s *scenario) hastenMessages() (changed bool) {
	for i := range s.channels {
		for side := range s.channels[i].ends {
			e := &s.channels[i].ends[side]
			changed = changed || e.idle > 0
			e.idle = 0
		}
	}
	for _, thread := range s.everyThread() {
		for i := range *thread {
			m := &(*thread)[i]
			changed = changed || m.thinking > 0 || m.holds > 0
			m.thinking, m.holds = 0, 0
		}
	}
	return changed
}
