package fuzz

import (
	"bytes"
	"context"
	"errors"

	"github.com/braid-rdma/braid"
	"github.com/braid-rdma/braid/verbs"
)

// window is the memory of an end that the peer reaches by one-sided operations: a number, bytes
// that it reads, and room for all that it writes.
type window struct {
	memory  *braid.Memory
	written int // room that operations have taken
	added   struct{ tried, done uint64 }
	seen    map[uint64]bool // what FetchAdd has returned
}

const (
	counterBytes = 8
	readable     = 4096
)

// open makes the memory that a peer needs.
func (w *window) open(c *braid.Context, peer *channelEndSpec) (err error) {
	room := 0
	for _, thread := range peer.threads {
		for _, m := range thread {
			if m.kind == aWrite {
				room += m.length
			}
		}
	}
	w.seen = map[uint64]bool{}
	w.memory, err = c.Alloc(counterBytes+readable+room, braid.CanRead|braid.CanWrite|braid.CanAtomic)
	if err != nil {
		return err
	}
	for i := range readable {
		w.memory.Bytes()[counterBytes+i] = readableByte(i)
	}
	return nil
}

func readableByte(i int) byte { return byte(i*7 + i>>8) }

// guard fills memory of an operation that was given up; it must stay so.
func (e *channelEnd) guard(b []byte) {
	for i := range b {
		b[i] = guard
	}
	e.guards = append(e.guards, b)
}

// checkUnwritten checks that nobody has written memory that an operation had given back.
func (e *channelEnd) checkUnwritten() {
	for _, b := range e.guards {
		if len(bytes.Trim(b, string([]byte{guard}))) != 0 {
			e.fail("memory of %d bytes was written after the operation had been given up", len(b))
		}
	}
}

// checkOneSided says whether an operation has succeeded, and checks that a failure has a reason.
func (e *channelEnd) checkOneSided(ctx context.Context, what messageKind, err error) bool {
	e.note(what, 0, err)
	silent := errors.Is(err, verbs.ErrRetryExceeded) && e.mayFail() // the channel ends in a moment
	if err != nil && !e.gone(err) && !gaveUp(ctx, err) && !silent {
		e.fail("%v: %v", what, err)
	}
	return err == nil
}

func (e *channelEnd) read(ctx context.Context, m *messageSpec) {
	b := make([]byte, m.length)
	from := e.peer().window.memory.Remote().Slice(counterBytes, counterBytes+readable)
	if !e.checkOneSided(ctx, aRead, e.ch.Read(ctx, b, from)) {
		e.guard(b)
		return
	}
	for i := range b {
		if b[i] != readableByte(i) {
			e.fail("a READ of %d bytes has a wrong one at %d", m.length, i)
		}
	}
}

func (e *channelEnd) write(ctx context.Context, m *messageSpec) {
	w := &e.peer().window
	start := counterBytes + readable + w.written
	w.written += m.length
	b := bytes.Repeat([]byte{byte(w.written), 1, byte(e.side)}, m.length/3+1)[:m.length]
	want := bytes.Clone(b)
	err := e.ch.Write(ctx, b, w.memory.Remote().Slice(start, start+m.length))
	spoil(b)
	if e.checkOneSided(ctx, aWrite, err) && !bytes.Equal(w.memory.Bytes()[start:start+m.length], want) {
		e.fail("a WRITE of %d bytes has returned, but the peer does not have them", m.length)
	}
}

func (e *channelEnd) add(ctx context.Context) {
	w := &e.peer().window
	w.added.tried++
	was, err := e.ch.FetchAdd(ctx, w.memory.Remote().Slice(0, counterBytes), 1)
	if !e.checkOneSided(ctx, anAdd, err) {
		return
	}
	w.added.done++
	if w.seen[was] || was >= w.added.tried {
		e.fail("fetch and add returned %d, for the second time or too much", was)
	}
	w.seen[was] = true
}

// checkCounter checks that each addition has happened once, and those that failed at most once.
func (e *channelEnd) checkCounter() {
	n, err := e.window.memory.LoadUint64(0)
	if err != nil || n < e.window.added.done || n > e.window.added.tried {
		e.fail("of %d additions %d have succeeded, and the number is %d (%v)", e.window.added.tried, e.window.added.done, n, err)
	}
}
