package braid

import (
	"context"
	"iter"

	"github.com/braid-rdma/braid/internal/fifo"
)

// sendsAhead is how many messages of a SendAll are begun at a time: enough that the peer's program can take one
// while the next are on their way.
const sendsAhead = 8

// SendAll sends one-way messages in order, and begins the next ones before the first has been read: a long text is soonest at
// the peer in several messages, of which its program takes one while the next comes.
//
//	n, err := ch.SendAll(ctx, slices.Chunk(text, 256<<10))
//
// It asks for a payload when the message can begin, and messages leave together: the sequence is not to wait for anything, least of all for
// what the peer says to the messages before. SendAll returns when all payloads may be used again, and how many messages were sent: always the
// first ones. Only if that is not all of them there is an error, which is as that of Send.
func (ch *Channel) SendAll(ctx context.Context, payloads iter.Seq[[]byte]) (sent int, err error) {
	var s sequence
	for payload := range payloads {
		if s.err == nil {
			s.err = s.ended // with something left to send
		}
		if s.err != nil {
			break
		}
		var o *outgoing
		if o, s.err = ch.beginOneway(ctx, payload); s.err != nil {
			break
		}
		s.begun.Push(o)
		ch.context.inbox.push(&o.task) // they leave together
		if s.begun.Len() == sendsAhead {
			s.finish(ctx, sendsAhead/2)
		}
	}
	s.finish(ctx, s.begun.Len())
	return s.sent, s.err
}

// sequence is the messages of a SendAll.
type sequence struct {
	begun  fifo.Queue[*outgoing]
	sent   int
	missed bool  // one of them was not sent
	ended  error // why its sender does not wait any more
	err    error // why a message was not sent
}

// finish waits for the first n of the messages that are begun. It wakes for the last of them, since each
// time costs a processor more than a message does.
func (s *sequence) finish(ctx context.Context, n int) {
	for i := n - 1; i >= 0 && s.ended == nil; i-- {
		s.await(ctx, s.begun.At(i))
	}
	for range n {
		s.finishFirst()
	}
}

// await waits for a message.
func (s *sequence) await(ctx context.Context, o *outgoing) {
	if c := o.channel.context; !c.inbox.empty() {
		c.submitted()
	}
	if err := o.await(ctx); err != nil {
		s.ended = err
		s.giveUp()
	}
}

// finishFirst takes the first message, which is finished.
func (s *sequence) finishFirst() {
	o, _ := s.begun.Pop()
	if o.err == nil && !s.missed { // what is behind one that was not sent does not count
		s.sent++
	}
	if o.err != nil {
		s.missed = true
		if s.err == nil {
			s.err = o.err
		}
	}
	o.drop()
}

// giveUp withdraws the messages, the last ones first: so none is sent behind one that is not.
func (s *sequence) giveUp() {
	for i := s.begun.Len() - 1; i >= 0; i-- {
		if o := s.begun.At(i); !o.finished.Load() {
			o.giveUp(s.ended)
		}
	}
}
