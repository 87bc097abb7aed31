package bundle

import (
	"context"
	"fmt"

	"github.com/braid-rdma/braid/bundle/machine"
	"github.com/braid-rdma/braid/verbs"
)

// Buffer is registered memory on this side.
type Buffer struct {
	MR     *verbs.MR
	Offset int
	Length int
}

// Remote is memory of the peer.
type Remote struct {
	Addr uint64
	RKey verbs.RKey
}

// Op is the kind of a request.
type Op uint8

// The kinds of request: Virtuoso's MP_WRITE, MP_READ, MP_SEND and MP_RECV.
const (
	OpWrite Op = iota
	OpRead
	OpSend
	OpReceive
)

// Request is a request for Post.
type Request struct {
	ID     uint64
	Op     Op
	Local  Buffer
	Remote Remote // OpWrite, OpRead
}

// Completion tells the outcome of a request that was posted.
type Completion struct {
	ID    uint64
	Op    Op
	Bytes int
	Err   error
}

// pending is a request that is not complete.
type pending struct {
	Request
	result chan Completion // of a blocking call; nil: for Poll
	fault  error           // of its memory, which the machine does not know of
}

// use calls f with the memory of the request, unless the program has deregistered it.
func (p *pending) use(f func(b []byte)) {
	err := p.Local.MR.WithBytes(func(b []byte) { f(b[p.Local.Offset:][:p.Local.Length]) })
	if err != nil {
		p.fault = fmt.Errorf("bundle: %w: %w", verbs.ErrLocalAccess, err)
	}
}

// check refuses what would fail later on a queue pair, and break it.
func (r *Request) check(cfg *Config) error {
	b := &r.Local
	switch {
	case cfg.Standard && r.Op > OpRead:
		return fmt.Errorf("%w: a standard peer serves Writes and Reads", verbs.ErrOperation)
	case r.Op > OpReceive:
		return fmt.Errorf("%w: %d", verbs.ErrOperation, r.Op)
	case b.MR == nil:
		return fmt.Errorf("%w: no memory", verbs.ErrRange)
	case b.Offset < 0 || b.Length < 0 || b.Offset > b.MR.Len() || b.Length > b.MR.Len()-b.Offset:
		return fmt.Errorf("%w: %d bytes at %d of %d", verbs.ErrRange, b.Length, b.Offset, b.MR.Len())
	case r.Op == OpRead && b.MR.Access()&verbs.LocalWrite == 0:
		return fmt.Errorf("%w: a Read needs LocalWrite", verbs.ErrLocalAccess)
	case r.Op == OpReceive && cfg.TwoSided && b.MR.Access()&verbs.LocalWrite == 0:
		return fmt.Errorf("%w: a Receive needs LocalWrite", verbs.ErrLocalAccess)
	case r.Op == OpReceive && !cfg.TwoSided && b.MR.Access()&verbs.RemoteWrite == 0:
		return fmt.Errorf("%w: a Receive needs RemoteWrite", verbs.ErrLocalAccess)
	}
	return nil
}

// Post queues a request; Poll or Wait returns its completion. An error means that
// nothing was queued.
func (c *Conn) Post(r Request) error { return c.post(&pending{Request: r}) }

func (c *Conn) post(p *pending) error {
	if err := p.check(&c.cfg); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	table := c.requests
	if p.Op == OpReceive {
		table = c.receives
	}
	if len(table) >= c.cfg.Requests || p.result == nil && c.unpolled >= 2*c.cfg.Requests {
		return ErrQueueFull
	}
	if p.result == nil {
		c.unpolled++
	}
	if p.Op == OpReceive {
		c.receives[c.machine.PostReceive(p.Local.Length)] = p
	} else {
		c.requests[c.machine.Post(machine.Op(p.Op), p.Local.Length)] = p
	}
	c.settle()
	return nil
}

// Poll moves completions to out, oldest first, and returns how many. The error comes
// after the last completion of a connection that has ended.
func (c *Conn) Poll(out []Completion) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := copy(out, c.completions)
	c.completions = c.completions[n:]
	c.unpolled -= n
	if n == 0 && len(out) > 0 && c.ended {
		return 0, c.err
	}
	return n, nil
}

// Wait is Poll that blocks until there is a completion, or the context or the
// connection ends.
func (c *Conn) Wait(ctx context.Context, out []Completion) (int, error) {
	for {
		news := c.news.Next()
		if n, err := c.Poll(out); n > 0 || err != nil || len(out) == 0 {
			return n, err
		}
		select {
		case <-news:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// Write writes local memory to the peer's and returns when it is there.
func (c *Conn) Write(ctx context.Context, local Buffer, remote Remote) error {
	_, err := c.call(ctx, Request{Op: OpWrite, Local: local, Remote: remote})
	return err
}

// Read reads the peer's memory into local memory.
func (c *Conn) Read(ctx context.Context, local Buffer, remote Remote) error {
	_, err := c.call(ctx, Request{Op: OpRead, Local: local, Remote: remote})
	return err
}

// Send sends a message to the next Receive of the peer, which it waits for.
func (c *Conn) Send(ctx context.Context, local Buffer) error {
	_, err := c.call(ctx, Request{Op: OpSend, Local: local})
	return err
}

// Receive receives a message and returns its length. If its context ends it stays posted: the next message goes to
// its memory, and is lost. A program that means to go on without it posts its receives and polls.
func (c *Conn) Receive(ctx context.Context, local Buffer) (int, error) {
	return c.call(ctx, Request{Op: OpReceive, Local: local})
}

func (c *Conn) call(ctx context.Context, r Request) (int, error) {
	p := &pending{Request: r, result: make(chan Completion, 1)}
	if err := c.post(p); err != nil {
		return 0, err
	}
	select {
	case done := <-p.result:
		return done.Bytes, done.Err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}
