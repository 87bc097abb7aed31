package braid

import (
	"context"
	"fmt"
)

// forget frees a channel whose queue pair is closed: all its completions are in the queue.
func (c *Context) forget(ch *Channel) {
	for c.cq.Ready() {
		n, err := c.cq.Poll(c.polled[:])
		for i := range c.polled[:n] {
			c.handle(&c.polled[i])
		}
		if err != nil || n == 0 {
			break
		}
	}
	for m, ok := ch.partial.Pop(); ok; m, ok = ch.partial.Pop() {
		c.bulk.taken(m)
		m.Release()
	}
	c.keepQP(ch.qp)
	ch.unpublish()
	c.channels[ch.number] = nil
	c.freeNumbers = append(c.freeNumbers, ch.number)
	close(ch.gone)
}

// add makes room for a channel.
func (c *Context) add() (*Channel, error) {
	ch := &Channel{context: c, done: make(chan struct{}), gone: make(chan struct{}), deadline: never}
	cfg := c.Config()
	ch.incoming, ch.sends = make(chan *Msg, 2*cfg.Window), newSendQueue(cfg.sendDepth())
	ch.serve = context.Background()
	err := error(nil)
	c.exclusive(func() {
		if err = c.open(); err != nil {
			return
		}
		switch last := len(c.freeNumbers) - 1; {
		case last >= 0:
			ch.number, c.freeNumbers = c.freeNumbers[last], c.freeNumbers[:last]
			c.channels[ch.number] = ch
		case len(c.channels) == cfg.Channels:
			err = fmt.Errorf("%w: %d", ErrLimit, cfg.Channels)
		default:
			ch.number = uint32(len(c.channels))
			c.channels = append(c.channels, ch)
		}
		if err == nil {
			ch.ready = c.qps.take()
		}
	})
	return ch, err
}

// open returns an error when the context is closed.
func (c *Context) open() error {
	select {
	case <-c.closed:
		return fmt.Errorf("braid: %w: context", ErrClosed)
	default:
		return nil
	}
}
