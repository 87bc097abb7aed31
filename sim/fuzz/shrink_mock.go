package fuzz

import (
	"slices"

	"github.com/braid-rdma/braid/sim"
)

// cloneMock copies what the shrinker changes of Mock.
func (s *scenario) cloneMock() {
	if s.mock != nil {
		m := *s.mock
		m.faults = slices.Clone(m.faults)
		s.mock = &m
	}
	for i := range s.channels {
		s.channels[i].commands = slices.Clone(s.channels[i].commands)
	}
}

// dropStreamFaults lets TCP work.
func (s *shrinker) dropStreamFaults() (improved bool) {
	if s.best.sc.mock == nil {
		return false
	}
	for i := len(s.best.sc.mock.faults) - 1; i >= 0; i-- {
		improved = s.try(func(c *scenario) bool {
			c.mock.faults = slices.Delete(c.mock.faults, i, i+1)
			return true
		}) || improved
	}
	return improved
}

// dropCommands takes commands away.
func (s *shrinker) dropCommands() (improved bool) {
	for i := range s.best.sc.channels {
		for j := len(s.best.sc.channels[i].commands) - 1; j >= 0; j-- {
			improved = s.try(func(c *scenario) bool {
				c.channels[i].commands = slices.Delete(c.channels[i].commands, j, j+1)
				return true
			}) || improved
		}
	}
	return improved
}

// forbidMock lets no channel move.
func (s *scenario) forbidMock() bool {
	was := s.mock != nil
	s.mock, s.config.Streams = nil, sim.Streams{}
	for i := range s.channels {
		s.channels[i].commands, s.channels[i].returns = nil, false
	}
	return was
}
