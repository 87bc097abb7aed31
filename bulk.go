package braid

import (
	"fmt"
	"time"

	"github.com/braid-rdma/braid/internal/fifo"
	"github.com/braid-rdma/braid/verbs"
)

// bulkQueue moves what is long, a fragment at a time, for all channels in turn, so that none waits for the end of
// another's (X-RDMA §V-C): large messages, which it reads, and one-sided operations.
type bulkQueue struct {
	turns       fifo.Queue[*Channel]
	starved     []*Channel    // that wait for memory
	outstanding int           // bytes that are on their way, without those of channels that stand still
	lookAt      time.Duration // when to look again for such channels, if others wait
	memory      int           // bytes of messages that the application does not have yet
	smallAt     time.Duration // when a small message last came while there were such; 0: never
}

// smallTime is for how long a small message counts as one that comes beside large ones.
const smallTime = 5 * time.Millisecond

// stillTime is after which time without a completion a channel stands still. What is on its way to a peer that is silent stays
// there until the queue pair gives up, and the others need not wait for that.
const stillTime = 50 * time.Millisecond

const (
	// fragmentsPerRead is how many are read at once while no small message comes: READs cost packets and system calls.
	fragmentsPerRead = 8
	// fragmentsPerChannel is how many of a channel are on their way before it waits. With half as many the queue
	// pair's window is not full, its packets leave in shorter runs, and a byte costs a tenth more of a processor.
	fragmentsPerChannel = 32
)

// small notes that a small message has come, or a short one-sided operation.
func (q *bulkQueue) small(now time.Duration) {
	if q.outstanding > 0 {
		q.smallAt = now
	}
}

// limits are how many bytes may be on their way, and how many one READ is for. They lie before small messages in the
// queues of the network and of the socket, and are few while such come.
func (q *bulkQueue) limits(c *Context) (all, one int) {
	if q.smallAt > 0 && c.at-q.smallAt < smallTime {
		return c.cfg.FragmentsBeside * c.cfg.Fragment, c.cfg.Fragment
	}
	return c.cfg.Fragments * c.cfg.Fragment, fragmentsPerRead * c.cfg.Fragment
}

// mayRead says whether a channel has something to read and room for it.
func (ch *Channel) mayRead() bool {
	_, some := ch.session.NextFetch()
	return some && !ch.still && (!ch.starved || ch.session.SkipFetch()) && ch.reads < readsPerChannel && ch.fetching < fragmentsPerChannel*ch.context.cfg.Fragment
}

// add gives a channel a turn if it has a fragment to post.
func (q *bulkQueue) add(ch *Channel) {
	if !ch.hasTurn && (ch.mayRead() || ch.mayTransfer()) {
		ch.hasTurn = true
		q.turns.Push(ch)
	}
}

// remove forgets a channel that has ended. The others may wait for the time at which it was to look again (forgetStill).
func (q *bulkQueue) remove(ch *Channel) {
	q.turns.Remove(func(other *Channel) bool { return other == ch })
	if q.turns.Len() > 0 {
		ch.context.touch(q.turns.At(0))
	}
}

// post posts fragments as far as there is room.
func (q *bulkQueue) post(c *Context) {
	all, one := q.limits(c)
	for q.turns.Len() > 0 {
		if q.outstanding >= all {
			if q.forgetStill(c); q.outstanding >= all {
				return
			}
		}
		ch, _ := q.turns.Pop()
		ch.hasTurn = false
		if err := q.next(ch, one); err != nil {
			ch.fail(fmt.Errorf("braid: %w", err))
		}
	}
}

// forgetStill has what is on its way of channels that stand still no longer count, until something of it completes. Somebody
// waits, and looks again later.
func (q *bulkQueue) forgetStill(c *Context) {
	if c.at >= q.lookAt {
		q.lookAt = c.at + stillTime/2
		for _, ch := range c.channels {
			if ch != nil && ch.underway > 0 && !ch.still && c.at-ch.movedAt >= stillTime {
				ch.still = true
				q.outstanding -= ch.underway
			}
		}
	}
	c.deadlines.set(q.turns.At(0), q.lookAt)
}

// posted notes that something long of a channel is on its way.
func (q *bulkQueue) posted(ch *Channel, bytes int) {
	if ch.underway == 0 {
		ch.movedAt = ch.context.at
	}
	ch.underway += bytes
	q.outstanding += bytes
}

// completed notes that it is no longer.
func (q *bulkQueue) completed(ch *Channel, bytes int) {
	if ch.still {
		ch.still = false
		q.outstanding += ch.underway
	}
	ch.underway -= bytes
	q.outstanding -= bytes
	ch.movedAt = ch.context.at
}

// next posts a fragment of a channel, of messages and of one-sided operations by turns, and gives it another turn.
func (q *bulkQueue) next(ch *Channel, most int) error {
	transfers := ch.mayTransfer()
	ch.readLast = ch.mayRead() && (!ch.readLast || !transfers)
	var err error
	switch {
	case ch.readLast:
		err = q.read(ch, most)
	case transfers:
		err = ch.postTransfer()
	}
	if err == nil {
		q.add(ch)
	}
	return err
}

// read posts the next READ of a channel.
func (q *bulkQueue) read(ch *Channel, most int) error {
	c := ch.context
	in, _ := ch.session.NextFetch()
	m := in.Ref.(*Msg)
	if m.block == nil {
		// A response is what a caller here waits for: it never has to.
		if !in.Kind.IsResponse() && q.memory > 0 && q.memory+in.Length > c.cfg.Memory {
			if ch.session.SkipFetch() {
				return q.read(ch, most)
			}
			ch.starved, q.starved = true, append(q.starved, ch)
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
	q.posted(ch, f.Length)
	return nil
}

// taken notes that the application has a message, or that nobody will have it.
func (q *bulkQueue) taken(m *Msg) {
	if m.block == nil || m.block.class == frameClass {
		return
	}
	q.memory -= m.in.Length
	q.feed()
}

// feed lets those try again that wait for memory.
func (q *bulkQueue) feed() {
	for _, ch := range q.starved {
		ch.starved = false
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
	c.bulk.completed(ch, f.length)
	if e.Status != 0 || ch.ended.Load() != nil {
		c.bulk.post(c) // others may have waited for it
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
