package braid

import (
	"context"
	"fmt"

	"github.com/braid-rdma/braid/cm"
)

// forget frees a channel whose queue pair is closed: all its completions are in the queue.
func (c *Context) forget(ch *Channel) {
	c.handleAll()
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

// handleAll takes all completions that are there.
func (c *Context) handleAll() {
	for c.cq.Ready() {
		n, err := c.cq.Poll(c.polled[:])
		for i := range c.polled[:n] {
			c.handle(&c.polled[i])
		}
		if err != nil || n == 0 {
			break
		}
	}
}

// add makes room for a channel, or for one of the cache, and tells how it is to be connected.
func (c *Context) add() (ch *Channel, options cm.Options, err error) {
	c.exclusive(func() {
		if err = c.open(); err != nil {
			return
		}
		last := len(c.freeNumbers) - 1
		if last < 0 && len(c.channels) == c.cfg.Channels {
			err = fmt.Errorf("%w: %d", ErrLimit, c.cfg.Channels)
			return
		}
		if ch = c.qps.take(); ch == nil {
			ch = c.newChannel()
		}
		if last >= 0 {
			ch.number, c.freeNumbers = c.freeNumbers[last], c.freeNumbers[:last]
			c.channels[ch.number] = ch
		} else {
			ch.number = uint32(len(c.channels))
			c.channels = append(c.channels, ch)
		}
		asked := c.cfg
		ch.asked = &asked
		options = ch.options()
	})
	return ch, options, err
}

// newChannel makes a channel that has no number and no queue pair.
func (c *Context) newChannel() *Channel {
	return &Channel{
		context: c, done: make(chan struct{}), gone: make(chan struct{}), deadline: never, serve: context.Background(),
		incoming: make(chan *Msg, 2*c.cfg.Window), sends: newSendQueue(c.cfg.sendDepth()),
	}
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
