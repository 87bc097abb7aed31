package braid

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/internal/fifo"
	"github.com/braid-rdma/braid/internal/session"
	"github.com/braid-rdma/braid/verbs"
)

// queuePairFailed ends the channel when the reason is known, which the connection manager
// may learn a moment later.
func (ch *Channel) queuePairFailed() {
	if ch.broken || ch.ended.Load() != nil || ch.conn == nil {
		ch.broken = true
		return
	}
	ch.broken = true
	conn := ch.conn
	if conn.Err() != nil {
		ch.fail(ch.failure(conn))
		return
	}
	runtime := ch.context.runtime
	ch.context.background.Go(func() {
		ctx, cancel := runtime.WithTimeout(context.Background(), time.Second)
		runtime.Select(ctx, conn.Done())
		cancel()
		ch.end(ch.failure(conn))
	})
}

// failure is why the queue pair of a connection has failed.
func (ch *Channel) failure(conn *cm.Conn) error {
	err := conn.Err()
	if err == nil {
		err = verbs.ErrFlushed
	}
	if f := ch.fallback; f != nil && f.snapshot().err != nil && !errors.Is(err, ErrPeerClosed) {
		err = fmt.Errorf("%w; by TCP: %w", err, f.snapshot().err)
	}
	return fmt.Errorf("braid: the channel has ended: %w", err)
}

// fail ends the channel, and has its connection closed.
func (ch *Channel) fail(err error) {
	if ch.finish(err) {
		ch.context.part(ch)
	}
}

// finish ends the channel, once. Everything that waits is told. It returns whether the caller is to
// disconnect the channel.
func (ch *Channel) finish(err error) (connected bool) {
	if ch.ended.Load() != nil {
		return false
	}
	c := ch.context
	ch.ended.Store(&err)
	close(ch.done)
	ch.logEnd(err)
	c.tell()
	ch.publishState(stateEnded)
	c.deadlines.drop(ch)
	c.bulk.remove(ch)
	if ch.session != nil { // else it is still being connected
		ch.endMessages(err)
	}
	for _, o := range ch.lostCalls {
		o.finish(err)
		o.drop()
	}
	ch.lostCalls = nil
	ch.handDelayed()
	for _, f := range ch.flushes {
		f.finish(err)
	}
	ch.flushes = nil
	for _, q := range []*fifo.Queue[*transfer]{&ch.shortTransfers, &ch.transfers} {
		for t, ok := q.Pop(); ok; t, ok = q.Pop() {
			t.abort(err)
		}
	}
	for _, t := range ch.flushed {
		t.end(err)
	}
	ch.flushed = nil
	for m := ch.handling; m != nil; m = m.next {
		m.ctx.end()
	}
	for m, ok := ch.parked.Pop(); ok; m, ok = ch.parked.Pop() {
		c.bulk.taken(m)
		m.Release()
	}
	return ch.conn != nil
}

// endMessages fails what has not arrived and what has no response.
func (ch *Channel) endMessages(err error) {
	c := ch.context
	ch.session.End(
		func(m *session.Out) {
			o := m.Ref.(*outgoing)
			o.endTrace(c, err)
			o.free() // before its sender is told, who may change the payload then
			if o.Kind != session.Request {
				o.finish(err)
			}
			o.drop()
		},
		func(m *session.Out) {
			o := m.Ref.(*outgoing)
			o.finish(err)
			o.drop()
		},
		func(in *session.In) {
			m := in.Ref.(*Msg)
			if o := in.Request; o != nil {
				o.Ref.(*outgoing).finish(err)
				o.Ref.(*outgoing).drop()
			}
			if in.Complete() { // else READs may still write it
				c.bulk.taken(m)
				m.Release()
			}
		})
}

// disconnect closes the connection and frees what the channel had.
func (ch *Channel) disconnect() {
	if ch.fallback != nil {
		ch.fallback.end()
	}
	ch.conn.Close() // a peer that does not respond is told no more
	ch.context.exclusive(func() { ch.context.forget(ch) })
}
