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
	outstanding int           // bytes that READs are on their way for
	memory      int           // bytes of messages that the application does not have yet
	smallAt     time.Duration // when a small message last came while there were such; 0: never
}

// smallTime is for how long a small message counts as one that comes beside large ones.
const smallTime = 5 * time.Millisecond

// fragmentsPerRead is how many are read at once while no small message comes: READs cost packets and system calls.
const fragmentsPerRead = 4

// small notes that a small message has come.
func (q *fetchQueue) small(now time.Duration) {
	if q.outstanding > 0 {
		q.smallAt = now
	}
}

// limits are how many bytes may be on their way, and how many one READ is for. They lie before small messages in the
// queues of the network and of the socket, and are few while such come.
func (q *fetchQueue) limits(c *Context) (all, one int) {
	if q.smallAt > 0 && c.at-q.smallAt < smallTime {
		return c.cfg.FragmentsBeside * c.cfg.Fragment, c.cfg.Fragment
	}
	return c.cfg.Fragments * c.cfg.Fragment, fragmentsPerRead * c.cfg.Fragment
}

// mayRead says whether a channel has something to read and room for it.
func (ch *Channel) mayRead() bool {
	_, some := ch.session.NextFetch()
	return some && ch.reads < readsPerChannel && ch.fetching < readsPerChannel*ch.context.cfg.Fragment
}

// add gives a channel a turn if it has something to read.
func (q *fetchQueue) add(ch *Channel) {
	if !ch.hasTurn && ch.mayRead() {
		ch.hasTurn = true
		q.turns.Push(ch)
	}
}

// remove forgets a channel that has ended.
func (q *fetchQueue) remove(ch *Channel) {
	q.turns.Remove(func(other *Channel) bool { return other == ch })
}

// post posts READs as far as there is room.
func (q *fetchQueue) post(c *Context) {
	all, one := q.limits(c)
	for q.turns.Len() > 0 && q.outstanding < all {
		ch, _ := q.turns.Pop()
		ch.hasTurn = false
		if err := q.read(ch, one); err != nil {
			ch.fail(fmt.Errorf("braid: fetch a message: %w", err))
		}
	}
}

// read posts the next READ of a channel, and gives it another turn.
func (q *fetchQueue) read(ch *Channel, most int) error {
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
	f, _ := ch.session.PollFetch(most)
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
	ch.fetching += f.Length
	q.outstanding += f.Length
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
	ch.fetching -= f.length
	c.fetches.outstanding -= f.length
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
