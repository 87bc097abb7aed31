package braid

import (
	"time"

	"github.com/braid-rdma/braid/operate"
)

// beginOffering opens the socket for operators. Where that is not possible the context works without.
func (c *Context) beginOffering() {
	if c.cfg.NoOperator || c.runtime.Virtual() {
		return
	}
	// Nil where it fails; StatsFile says why there is no directory.
	c.offering, _ = operate.Offer(operate.Source{
		Device: c.device, Labels: c.cfg.Labels, State: c.operatorState, Parameters: c.operatorParameters, Set: c.operatorSet,
	})
}

// operatorState is what an operator is shown of the context at this moment.
func (c *Context) operatorState(wanted func(qpn uint32) bool) (s operate.ContextState) {
	c.exclusive(func() {
		s.MemoryFull, s.Waiting = len(c.bulk.starved) > 0, int(c.waiting.Load())
		for _, ch := range c.channels {
			if ch != nil && ch.session != nil && ch.qp != nil && wanted(uint32(ch.qp.Number())) {
				s.Channels = append(s.Channels, ch.operatorState())
			}
		}
	})
	s.LongestPoll, s.PollPlace = c.longestPoll(time.Now().Add(-2 * time.Second))
	return s
}

func (ch *Channel) operatorState() operate.ChannelState {
	var n Stats
	ch.count(&n)
	return operate.ChannelState{
		Number: int(ch.number), QPN: uint32(ch.qp.Number()), Peer: ch.conn.RemoteAddr().String(),
		OnTCP:  ch.fallback != nil && ch.fallback.snapshot().onTCP,
		Queued: n.Queued, SendWindow: n.SendWindow, Unread: n.Unread, OpenCalls: n.OpenCalls, Handling: n.Handling,
		Calls: ch.context.cfg.Calls, Reads: n.Reads, Sent: n.Sent, Received: n.Received,
	}
}

// longestPoll is the longest time since an instant in which the device was not polled, if that is measured (Config.PollingWarn).
func (c *Context) longestPoll(since time.Time) (longest time.Duration, place string) {
	for _, s := range c.SlowEvents() {
		if s.Phase == PhasePoll && s.At.After(since) && s.Took > longest {
			longest, place = s.Took, s.Place
		}
	}
	return longest, place
}

func (c *Context) operatorParameters() (all []operate.Parameter) {
	for p, value := range c.Config().Parameters() {
		all = append(all, operate.Parameter{Name: p.Name, Value: value, Description: p.Description, Online: p.Online})
	}
	return all
}

// operatorSet changes parameters, all or none; all that is wrong is told.
func (c *Context) operatorSet(values map[string]string, dryRun bool) (err error) {
	change := func(cfg *Config) error { return cfg.setAll(values) }
	c.exclusive(func() {
		if dryRun {
			_, err = c.changed(change)
		} else {
			err = c.update(change)
		}
	})
	return err
}
