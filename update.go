package braid

import (
	"errors"
	"fmt"

	"github.com/braid-rdma/braid/verbs"
)

// Config returns the configuration of the context as it is now, defaults included.
func (c *Context) Config() (cfg Config) {
	c.exclusive(func() { cfg = c.cfg })
	return cfg
}

// Update changes the configuration of a running context: change gets the present one and
// alters it. Policy, Control, Fragments, FragmentsBeside, Memory, Keepalive, Linger, QPCache, Log and what concerns tracing take effect at once, also on
// channels that exist; MaxMessage and Patience on later ones. Mock commands all channels, where it was not MockOff and does not become it; they
// move after Update has returned. What decides how memory is laid out
// can not change. A configuration that is impossible is refused as a whole, and all that is wrong with it is told.
// The context does nothing else while change runs, which must not call it.
func (c *Context) Update(change func(*Config)) (err error) {
	c.exclusive(func() {
		_, err = c.update(func(cfg *Config) error { change(cfg); return nil })
	})
	return err
}

// changed is the configuration after a change, unless that fails or makes an impossible one.
func (c *Context) changed(change func(*Config) error) (Config, error) {
	next := c.cfg
	if err := change(&next); err != nil {
		return c.cfg, err
	}
	next, err := next.withDefaults()
	return next, errors.Join(err, c.checkMock(next.Mock), c.checkFixed(next))
}

// update changes the configuration. What becomes of the channels that move for it comes from moves.
func (c *Context) update(change func(*Config) error) (moves []<-chan error, err error) {
	next, err := c.changed(change)
	if err != nil {
		return nil, err
	}
	if next.Policy != c.cfg.Policy || next.Control != c.cfg.Control || next.MaxMessage != c.cfg.MaxMessage {
		c.qps.shrink(0) // those that wait for later channels have the old ones
	}
	for _, ch := range c.channels {
		if ch != nil && ch.qp != nil {
			ch.follow(&c.cfg, &next)
		}
	}
	moves = c.carryBy(next.Mock)
	c.cfg = next
	c.qps.shrink(next.QPCache)
	c.tracer.configure(&next)
	c.journal.configure(&next)
	c.memory.limit.Store(int64(next.Memory))
	c.bulk.feed()
	for _, ch := range c.channels {
		if ch != nil {
			c.touch(ch) // there may be room now
		}
	}
	return moves, nil
}

// carryBy commands the channels to a carrier, if it is not what they were commanded to last.
func (c *Context) carryBy(m Mock) (moves []<-chan error) {
	if m == c.cfg.Mock {
		return nil
	}
	for _, ch := range c.channels {
		if ch != nil && ch.fallback != nil {
			moves = append(moves, ch.fallback.command(m.carrier()))
		}
	}
	return moves
}

// checkMock refuses what the channels cannot do. Whether there is TCP at all was decided when the context was opened.
func (c *Context) checkMock(m Mock) error {
	switch {
	case m == c.cfg.Mock:
		return nil
	case m == MockOff || c.cfg.Mock == MockOff:
		return fmt.Errorf("%w: Mock is %v and cannot become %v while the context is open: only auto, tcp and udp can become each other", ErrConfig, c.cfg.Mock, m)
	case m == MockTCP && c.streams == nil:
		return fmt.Errorf("%w: Mock: %w", ErrConfig, c.engineHasNoTCP())
	}
	without := 0
	for _, ch := range c.channels {
		if m == MockTCP && ch != nil && ch.conn != nil && ch.Err() == nil && ch.fallback == nil {
			without++
		}
	}
	if without > 0 {
		return fmt.Errorf("%w: Mock: %w: the peers of %d channels offer none", ErrConfig, ErrNoTCP, without)
	}
	return nil
}

// checkFixed refuses changes of what can not change.
func (c *Context) checkFixed(next Config) error {
	fixed := next
	fixed.Policy, fixed.Control = c.cfg.Policy, c.cfg.Control
	fixed.FragmentsBeside = c.cfg.FragmentsBeside
	fixed.Fragments, fixed.Memory, fixed.Keepalive, fixed.Linger = c.cfg.Fragments, c.cfg.Memory, c.cfg.Keepalive, c.cfg.Linger
	fixed.MaxMessage, fixed.Patience, fixed.QPCache = c.cfg.MaxMessage, c.cfg.Patience, c.cfg.QPCache
	fixed.Trace, fixed.TraceMask = c.cfg.Trace, c.cfg.TraceMask
	fixed.SlowThreshold, fixed.PollingWarn = c.cfg.SlowThreshold, c.cfg.PollingWarn
	fixed.Mock, fixed.Log = c.cfg.Mock, c.cfg.Log
	if fixed != c.cfg {
		return fmt.Errorf("%w: only Policy, Control, Fragments, FragmentsBeside, Memory, Keepalive, Linger, MaxMessage, Patience, QPCache, Mock, Log and tracing can change while the context is open", ErrConfig)
	}
	return nil
}

// follow changes of the channel's queue pair what a change of the configuration does at once, while its messages move. One that has failed
// needs none of it, and one that has one path no policy. One that is not connected yet follows when it is established.
func (ch *Channel) follow(was, is *Config) {
	if is.Keepalive != was.Keepalive {
		_ = ch.qp.SetKeepalive(max(is.Keepalive, verbs.None))
	}
	var o verbs.MPOptions
	_ = o.Choose(is.Policy, is.Control) // which was checked
	if is.Policy != was.Policy {
		_ = ch.qp.SetPolicy(o.Policy)
	}
	if is.Control != was.Control {
		_ = ch.qp.SetCongestionControl(o.Control)
	}
}
