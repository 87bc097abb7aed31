package braid

import (
	"fmt"
	"time"

	"github.com/braid-rdma/braid/internal/fifo"
	"github.com/braid-rdma/braid/verbs"
)

// fetchQueue reads large messages, a fragment at a time, from all channels in turn, so that none
// waits for another's message to end (X-RDMA §V-C).
type fetchQueue struct {
	turns       fifo.Queue[*Channel]
	starved     []*Channel    // that wait for memory
	outstanding int           // fragments
	memory      int           // bytes of messages that the application does not have yet
	smallAt     time.Duration // when a small message last came; 0: never
}

// smallTime is for how long a small message counts as one that comes beside large ones.
const smallTime = 5 * time.Millisecond

// room is how many fragments may be on their way. They lie before small messages in the queues of the network and
// of the socket, and are few while such come.
func (q *fetchQueue) room(c *Context) int {
	if q.smallAt > 0 && c.at-q.smallAt < smallTime {
		return c.cfg.FragmentsBeside
	}
	return c.cfg.Fragments
}

// add gives a channel a turn if it has something to read.
func (q *fetchQueue) add(ch *Channel) {
	if _, ok := ch.session.NextFetch(); ok && !ch.fetching && ch.reads < readsPerChannel {
		ch.fetching = true
		q.turns.Push(ch)
	}
}

// remove forgets a channel that has ended.
func (q *fetchQueue) remove(ch *Channel) {
	q.turns.Remove(func(other *Channel) bool { return other == ch })
}

// post posts READs as far as there is room.
func (q *fetchQueue) post(c *Context) {
	for q.turns.Len() > 0 && q.outstanding < q.room(c) {
		ch, _ := q.turns.Pop()
		ch.fetching = false
		if err := q.read(ch); err != nil {
			ch.fail(fmt.Errorf("braid: fetch a message: %w", err))
		}
	}
}

// read posts the next READ of a channel, and gives it another turn.
func (q *fetchQueue) read(ch *Channel) error {
	c := ch.context
	in, _ := ch.session.NextFetch()
	m := in.Ref.(*Msg)
	if m.block == nil {
		// A response is what a caller here waits for: it never has to.
		if in.Request == nil && q.memory > 0 && q.memory+in.Length > c.cfg.Memory {
			q.starved = append(q.starved, ch)
			return nil
		}
		b, err := c.memory.takeBuffer(in.Length)
		if err != nil {
			return err
		}
		b.users.Store(1)
		m.block, in.Payload = b, b.bytes(in.Length)
		q.memory += in.Length
		ch.partial.Push(m)
	}
	f, _ := ch.session.PollFetch()
	op := &fetch{message: m, length: f.Length}
	number := c.operations.add(op)
	ch.sges[0] = m.block.sge(f.Offset, f.Length)
	err := ch.postSend(&verbs.SendWR{
		ID: workOperation | uint64(number), Op: verbs.OpRead, Flags: ch.sends.next(true), SGEs: ch.sges[:],
		RemoteAddr: in.Source.Addr + uint64(f.Offset), RKey: in.Source.RKey,
	})
	if err != nil {
		c.operations.take(number)
		return err
	}
	ch.reads++
	q.outstanding++
	q.add(ch)
	return nil
}

// taken notes that the application has a message, or that nobody will have it.
func (q *fetchQueue) taken(m *Msg) {
	if m.block == nil || m.block.class == frameClass {
		return
	}
	q.memory -= m.in.Length
	for _, ch := range q.starved {
		if ch.ended.Load() == nil {
			ch.context.touch(ch)
		}
	}
	clear(q.starved)
	q.starved = q.starved[:0]
}

// fetch is a READ of a part of a message.
type fetch struct {
	message *Msg
	length  int
}

func (f *fetch) completed(c *Context, e *verbs.Completion) {
	ch := f.message.channel
	ch.reads--
	c.fetches.outstanding--
	if e.Status != 0 || ch.ended.Load() != nil {
		c.fetches.post(c) // others may have waited for it
		ch.queuePairFailed()
		return
	}
	ch.sends.completed()
	ch.session.Fetched(&f.message.in, f.length)
	if f.message.in.Complete() {
		ch.partial.Pop() // READs complete in order
	}
	c.touch(ch)
}
