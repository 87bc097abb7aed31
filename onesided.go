package braid

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/braid-rdma/braid/internal/fifo"
	"github.com/braid-rdma/braid/verbs"
)

// Read copies memory of the peer to dst, as much as dst has room for. The peer's program has no
// part in it.
func (ch *Channel) Read(ctx context.Context, dst []byte, from Remote) error {
	return ch.oneSided(ctx, access{op: verbs.OpRead, local: dst, remote: from})
}

// Write copies src to memory of the peer. When it returns, it is there.
func (ch *Channel) Write(ctx context.Context, src []byte, to Remote) error {
	return ch.oneSided(ctx, access{op: verbs.OpWrite, local: src, remote: to})
}

// WriteThen is Write of src, and then of flag: who sees the flag in the peer's memory sees
// all of src. It costs no more than a Write.
func (ch *Channel) WriteThen(ctx context.Context, src []byte, to Remote, flag []byte, at Remote) error {
	return ch.oneSided(ctx,
		access{op: verbs.OpWrite, local: src, remote: to},
		access{op: verbs.OpWrite, local: flag, remote: at, last: true})
}

// CompareAndSwap puts new into eight aligned bytes of the peer's memory if they are old. It
// returns what they were.
func (ch *Channel) CompareAndSwap(ctx context.Context, at Remote, old, new uint64) (uint64, error) {
	return ch.atomic(ctx, access{op: verbs.OpCompareSwap, remote: at, compare: old, value: new})
}

// FetchAdd adds to eight aligned bytes of the peer's memory. It returns what they were.
func (ch *Channel) FetchAdd(ctx context.Context, at Remote, delta uint64) (uint64, error) {
	return ch.atomic(ctx, access{op: verbs.OpFetchAdd, remote: at, value: delta})
}

func (ch *Channel) atomic(ctx context.Context, a access) (uint64, error) {
	if a.remote.length != 8 || a.remote.addr%8 != 0 {
		return 0, fmt.Errorf("%w: atomics have eight aligned bytes, not %d at %#x", verbs.ErrAtomicShape, a.remote.length, a.remote.addr)
	}
	var was [8]byte
	a.local = was[:]
	err := ch.oneSided(ctx, a)
	return binary.NativeEndian.Uint64(was[:]), err
}

// access is one part of a one-sided operation.
type access struct {
	op             verbs.Op
	local          []byte
	remote         Remote
	compare, value uint64
	last           bool // takes effect after what was posted before
	mr             *verbs.MR
}

// transfer is a one-sided operation on its way. It is posted in fragments, so that it
// shares the channel with messages.
type transfer struct {
	task
	cancel   transferEnd
	channel  *Channel
	parts    []access
	part     int // the next fragment's
	offset   int
	pending  int // fragments posted
	short    bool
	finished atomic.Bool
	done     chan struct{}
	err      error
}

func (ch *Channel) oneSided(ctx context.Context, parts ...access) error {
	if ch.closing.Load() {
		return fmt.Errorf("braid: %w: channel", ErrClosed)
	}
	t := &transfer{channel: ch, parts: parts, done: make(chan struct{})}
	t.task.job, t.cancel.transfer, t.cancel.task.job = t, t, &t.cancel
	if err := t.register(); err != nil {
		t.release()
		return err
	}
	ch.context.submit(&t.task)
	t.wait(ctx)
	return t.err
}

// register makes the local memory known to the device.
func (t *transfer) register() error {
	for i := range t.parts {
		a := &t.parts[i]
		if uint64(len(a.local)) > a.remote.length {
			return fmt.Errorf("braid: %w: %d bytes, the peer's memory has %d", io.ErrShortBuffer, len(a.local), a.remote.length)
		}
		if len(a.local) == 0 {
			continue
		}
		rights := verbs.Access(0)
		if a.op != verbs.OpWrite {
			rights = verbs.LocalWrite
		}
		var err error
		if a.mr, err = t.channel.context.pd.RegisterMemory(a.local, rights); err != nil {
			return fmt.Errorf("braid: %w", err)
		}
	}
	return nil
}

func (t *transfer) release() {
	for i := range t.parts {
		if mr := t.parts[i].mr; mr != nil {
			_ = mr.Deregister() // it fails only where the device is closed
		}
	}
}

// perform queues the transfer.
func (t *transfer) perform(c *Context) {
	ch := t.channel
	if err := ch.Err(); err != nil {
		t.finish(err)
		t.release()
		return
	}
	if t.short = t.length() <= c.cfg.SmallMessage; t.short {
		c.bulk.small(c.at)
		ch.shortTransfers.Push(t)
	} else {
		ch.transfers.Push(t)
	}
	c.touch(ch)
}

func (t *transfer) length() (n int) {
	for i := range t.parts {
		n += len(t.parts[i].local)
	}
	return n
}

// mayTransfer says whether a channel has a fragment of a one-sided operation to post and room for it.
func (ch *Channel) mayTransfer() bool { return ch.transfers.Len() > 0 && !ch.still && ch.mayPost() }

func (ch *Channel) mayPost() bool { return ch.reads < readsPerChannel && !ch.broken }

// postShortTransfers posts the transfers that wait for no turn. They leave one place to the others.
func (ch *Channel) postShortTransfers() error {
	for ch.shortTransfers.Len() > 0 && ch.mayPost() && ch.reads < readsPerChannel-1 {
		if err := ch.postFragment(&ch.shortTransfers, ch.shortTransfers.At(0)); err != nil {
			return err
		}
	}
	return nil
}

// postTransfer posts a fragment of the transfer whose turn it is. The others of the channel are next.
func (ch *Channel) postTransfer() error {
	t := ch.transfers.At(0)
	err := ch.postFragment(&ch.transfers, t)
	if err == nil && t.part < len(t.parts) {
		ch.transfers.Pop()
		ch.transfers.Push(t)
	}
	return err
}

// postFragment posts a fragment of the first transfer of a queue, which it leaves with its last.
func (ch *Channel) postFragment(q *fifo.Queue[*transfer], t *transfer) error {
	if err := t.post(); err != nil {
		return err
	}
	if t.part == len(t.parts) {
		q.Pop()
		if t.pending == 0 { // there were no bytes
			t.end(nil)
		}
	}
	return nil
}

// post posts the next fragment.
func (t *transfer) post() error {
	ch, a := t.channel, &t.parts[t.part]
	c := ch.context
	n := min(len(a.local)-t.offset, c.cfg.Fragment)
	if n > 0 {
		f := &fragment{transfer: t}
		if !t.short { // short ones hold nothing up
			f.length = n
		}
		number := c.operations.add(f)
		wr := verbs.SendWR{
			ID: workOperation | uint64(number), Op: a.op, Flags: ch.sends.next(true), SGEs: ch.sges[:],
			RemoteAddr: a.remote.addr + uint64(t.offset), RKey: a.remote.key, Compare: a.compare, SwapAdd: a.value,
		}
		if a.last {
			wr.Flags |= verbs.Synchronise
		}
		ch.sges[0] = a.mr.SGE(t.offset, n)
		if err := ch.postSend(&wr); err != nil {
			c.operations.take(number)
			return err
		}
		ch.reads++
		t.pending++
		c.bulk.posted(ch, f.length)
	}
	if t.offset += n; t.offset == len(a.local) {
		t.part, t.offset = t.part+1, 0
	}
	return nil
}

// fragment is a part of a transfer that is on its way.
type fragment struct {
	transfer *transfer
	length   int // that counts as outstanding
}

func (f *fragment) completed(c *Context, e *verbs.Completion) {
	c.bulk.completed(f.transfer.channel, f.length)
	f.transfer.completed(c, e)
	if e.Status != 0 || f.transfer.channel.ended.Load() != nil {
		c.bulk.post(c) // others may have waited for it
	}
}

// completed handles the completion of a fragment.
func (t *transfer) completed(c *Context, e *verbs.Completion) {
	ch := t.channel
	ch.reads--
	t.pending--
	if e.Status != 0 {
		if t.err == nil {
			t.err = fmt.Errorf("braid: %w", e.Err())
		}
		ch.queuePairFailed()
	} else if ch.ended.Load() == nil {
		ch.sends.completed()
		c.touch(ch)
	}
	switch {
	case t.pending > 0:
	case ch.ended.Load() == nil && errors.Is(t.err, verbs.ErrFlushed):
		if t.part == len(t.parts) { // else it is in the queue
			ch.flushed = append(ch.flushed, t)
		}
	case t.part == len(t.parts) || e.Status != 0:
		if err := ch.Err(); err != nil && errors.Is(t.err, verbs.ErrFlushed) {
			t.err = err
		}
		t.end(t.err)
	}
}

// abort ends a transfer that was not posted to its end, with the channel.
func (t *transfer) abort(err error) {
	t.part = len(t.parts)
	if t.pending == 0 {
		t.end(err)
	} else if t.err == nil {
		t.err = err
	}
}

// end finishes the transfer: nothing of it is outstanding.
func (t *transfer) end(err error) {
	t.release()
	t.finish(err)
}

func (t *transfer) finish(err error) {
	if t.finished.Load() {
		return
	}
	t.err = err
	t.finished.Store(true)
	t.channel.context.tell()
	close(t.done)
}

func (t *transfer) arrived() bool { return t.finished.Load() }

// Ready implements verbs.Readiness.
func (t *transfer) Ready() bool { return t.finished.Load() || t.channel.context.pending() }

// wait waits until the transfer has ended, or gives its memory back when the context ends.
func (t *transfer) wait(ctx context.Context) {
	c := t.channel.context
	for !t.finished.Load() {
		if err := c.attend(ctx, t, t.done, false); err != nil {
			t.cancel.err = err
			c.submit(&t.cancel.task)
			<-t.done
			return
		}
	}
}

// transferEnd is the wish to give up a transfer. What was posted goes on with other memory.
type transferEnd struct {
	task
	transfer *transfer
	err      error
}

func (x *transferEnd) perform(c *Context) {
	t := x.transfer
	if t.finished.Load() {
		return
	}
	for i := range t.parts {
		a := &t.parts[i]
		if a.mr == nil {
			continue
		}
		spare := make([]byte, len(a.local))
		if a.op == verbs.OpWrite {
			copy(spare, a.local)
		}
		if err := a.mr.Replace(spare); err != nil { // the device is closed, or an adapter
			t.channel.fail(fmt.Errorf("braid: an access was given up while it was under way: %w", err))
			return // what was posted is flushed, and then it ends
		}
	}
	// What was not posted will not be.
	for _, q := range []*fifo.Queue[*transfer]{&t.channel.transfers, &t.channel.shortTransfers} {
		q.Remove(func(other *transfer) bool { return other == t })
	}
	t.part = len(t.parts)
	if t.pending == 0 {
		t.end(x.err)
		return
	}
	t.finish(x.err) // what was posted ends by itself
	c.touch(t.channel)
}

// At is memory of a peer as a file: an io.ReaderAt and io.WriterAt.
func (ch *Channel) At(ctx context.Context, r Remote) *RemoteFile {
	return &RemoteFile{ctx: ctx, channel: ch, remote: r}
}

// RemoteFile reads and writes memory of a peer by offset. Several goroutines may use it.
type RemoteFile struct {
	ctx     context.Context
	channel *Channel
	remote  Remote
}

// ReadAt implements io.ReaderAt.
func (f *RemoteFile) ReadAt(b []byte, offset int64) (int, error) {
	n, end, err := f.clip(len(b), offset)
	if err != nil || n == 0 {
		return 0, end
	}
	if err := f.channel.Read(f.ctx, b[:n], f.remote.Slice(int(offset), int(offset)+n)); err != nil {
		return 0, err
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// WriteAt implements io.WriterAt. It does not write beyond the end.
func (f *RemoteFile) WriteAt(b []byte, offset int64) (int, error) {
	n, _, err := f.clip(len(b), offset)
	if err != nil {
		return 0, err
	}
	if n > 0 {
		if err := f.channel.Write(f.ctx, b[:n], f.remote.Slice(int(offset), int(offset)+n)); err != nil {
			return 0, err
		}
	}
	if n < len(b) {
		return n, io.ErrShortWrite
	}
	return n, nil
}

// clip returns how many of n bytes at an offset the memory has.
func (f *RemoteFile) clip(n int, offset int64) (clipped int, end, err error) {
	if offset < 0 {
		err = fmt.Errorf("braid: offset %d", offset)
		return 0, err, err
	}
	if uint64(offset) >= f.remote.length {
		if n == 0 {
			return 0, nil, nil
		}
		return 0, io.EOF, nil
	}
	return int(min(uint64(n), f.remote.length-uint64(offset))), nil, nil
}

// Size is the length of the memory.
func (f *RemoteFile) Size() int64 { return int64(f.remote.length) }
