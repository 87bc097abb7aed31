package fluid

import "fmt"

// checkNetwork checks what the fixed point depends on.
func (c *Config) checkNetwork() error {
	switch {
	case len(c.Links) == 0:
		return badConfig("no Links")
	case len(c.Groups) == 0:
		return badConfig("no Groups")
	case c.PacketBytes < 0:
		return badConfig("PacketBytes is %d, want more than 0", c.PacketBytes)
	case c.variables() > maxVariables:
		return fmt.Errorf("%w: %d links and virtual paths, at most %d", ErrTooLarge, c.variables(), maxVariables)
	}
	for j, link := range c.Links {
		if err := link.check(); err != nil {
			return badConfig("link %d: %v", j, err)
		}
	}
	for g, group := range c.Groups {
		if err := group.check(len(c.Links)); err != nil {
			return badConfig("group %d: %v", g, err)
		}
	}
	return nil
}

func (l *Link) check() error {
	switch {
	case !positive(l.RateBitsPerSecond):
		return fmt.Errorf("RateBitsPerSecond is %v, want more than 0", l.RateBitsPerSecond)
	case l.BaseRTT <= 0:
		return fmt.Errorf("BaseRTT is %v, want more than 0", l.BaseRTT)
	case l.FeedbackRTT != 0 && l.FeedbackRTT < l.BaseRTT:
		return fmt.Errorf("FeedbackRTT is %v, want BaseRTT (%v) or more", l.FeedbackRTT, l.BaseRTT)
	case !finite(l.InitialQueue) || l.InitialQueue < 0:
		return fmt.Errorf("InitialQueue is %v packets, want 0 or more", l.InitialQueue)
	}
	return l.Marking.check()
}

func (g *Group) check(links int) error {
	switch {
	case g.Count <= 0:
		return fmt.Errorf("Count is %d, want 1 or more", g.Count)
	case len(g.Paths) == 0:
		return fmt.Errorf("no Paths")
	case g.InitialWindows != nil && len(g.InitialWindows) != len(g.Paths):
		return fmt.Errorf("%d InitialWindows for %d Paths", len(g.InitialWindows), len(g.Paths))
	}
	for i, link := range g.Paths {
		if link < 0 || link >= links {
			return fmt.Errorf("path %d is on link %d, want one of 0 to %d", i, link, links-1)
		}
	}
	for i, window := range g.InitialWindows {
		if !positive(window) {
			return fmt.Errorf("InitialWindows[%d] is %v packets, want more than 0", i, window)
		}
	}
	return nil
}

// checkRun checks what only the integration depends on; defaults are filled in.
func (c *Config) checkRun() error {
	switch {
	case c.Feedback != Delayed && c.Feedback != Immediate:
		return badConfig("Feedback is %d, want Delayed or Immediate", c.Feedback)
	case c.Duration <= 0:
		return badConfig("Duration is %v, want more than 0", c.Duration)
	case c.Step <= 0:
		return badConfig("Step is %v, want more than 0", c.Step)
	case c.Step > c.shortestRTT():
		return fmt.Errorf("%w: Step is %v, the shortest BaseRTT is %v", ErrStep, c.Step, c.shortestRTT())
	case c.SampleEvery < c.Step:
		return badConfig("SampleEvery is %v, want a Step (%v) or more", c.SampleEvery, c.Step)
	case c.Tail <= 0 || c.Tail > c.Duration:
		return badConfig("Tail is %v, want more than 0 and at most Duration (%v)", c.Tail, c.Duration)
	case c.steps() > maxSteps:
		return fmt.Errorf("%w: %d steps, at most %d", ErrTooLarge, c.steps(), maxSteps)
	}
	samples := int64(c.Duration/c.SampleEvery) + 2
	if values := samples * int64(sampleValues(len(c.Groups), len(c.Links))); values > maxTrajectoryValues {
		return fmt.Errorf("%w: a trajectory of %d numbers, at most %d; lengthen SampleEvery",
			ErrTooLarge, values, maxTrajectoryValues)
	}
	return nil
}
