package braid

import (
	"context"
	"net"
	"time"

	"github.com/braid-rdma/braid/internal/mock"
	"github.com/braid-rdma/braid/internal/tunnel"
)

// link is a TCP connection, which carries packets of the channel once it has a tunnel.
type link struct {
	f      *fallback
	conn   net.Conn
	theirs bool // the peer has opened it
	tunnel *tunnel.Tunnel
}

var _ tunnel.Handler = (*link)(nil)

// Packets implements tunnel.Handler. They may be for this queue pair only, which the engine checks.
func (l *link) Packets(packets [][]byte) { _ = l.f.ch.qp.Inject(packets) } // one that is closed wants none

// Control implements tunnel.Handler.
func (l *link) Control(frame []byte) {
	var b [mock.FrameLen]byte
	copy(b[:], frame)
	l.f.tell(input{
		tell:      func(m *mock.Machine, now time.Duration) { m.Heard(now, l, b) },
		droppable: !mock.IsBye(b) || !l.f.bidFarewell(), // the last words count, once
	})
}

// bidFarewell notes that the peer has closed the channel; false: it has said so before.
func (f *fallback) bidFarewell() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	first := !f.farewell
	f.farewell = true
	return first
}

// Writable implements tunnel.Handler.
func (l *link) Writable() { _ = l.f.ch.qp.Resume() }

// Ended implements tunnel.Handler.
func (l *link) Ended(reason error) {
	l.f.tell(input{tell: func(m *mock.Machine, now time.Duration) { m.LinkEnded(now, l, reason) }})
}

// close ends the connection, when what was told is written.
func (l *link) close() {
	if l.tunnel != nil {
		l.tunnel.Close()
	} else {
		l.drop()
	}
}

// drop ends a connection that has no tunnel, or whose tunnel has ended.
func (l *link) drop() {
	_ = l.conn.Close()
	if l.theirs {
		l.f.mu.Lock()
		l.f.taken--
		l.f.mu.Unlock()
	}
}

// refuse ends a connection that the peer has opened.
func (l *link) refuse() {
	_, _ = l.conn.Write([]byte{refused})
	l.drop()
}

// use makes a connection that of the channel. One that the peer has opened is accepted; if that fails its end
// will tell.
func (f *fallback) use(l *link, ours bool) {
	if !ours {
		_, _ = l.conn.Write(append([]byte{accepted}, f.peer[:]...))
	}
	_ = l.conn.SetDeadline(time.Time{})
	l.tunnel = tunnel.Start(f.ch.context.runtime, l.conn, max(minLifetime, f.patience/2), l)
	f.ch.context.background.Go(func() {
		l.tunnel.Wait()
		l.drop()
	})
}

// minLifetime is the least time that a packet may take through TCP, or else the connection is given up. TCP
// itself needs some for what is lost. It must not be long either: a packet that arrives
// when 2^23 others have passed it by UDP would be taken for a new one.
const minLifetime = 2 * time.Second

// open opens a TCP connection to the peer.
func (f *fallback) open(attempt uint32, within time.Duration) {
	ctx, cancel := f.ch.context.runtime.WithTimeout(context.Background(), within)
	f.cancel = cancel
	f.ch.context.background.Go(func() {
		defer cancel()
		conn, err := f.ch.context.streams.open(ctx, f)
		f.opened(attempt, conn, err)
	})
}

// opened is the end of an attempt.
func (f *fallback) opened(attempt uint32, conn net.Conn, err error) {
	var l mock.Link
	undone := func(error) {}
	if conn != nil {
		made := &link{f: f, conn: conn}
		l, undone = made, func(error) { made.close() }
	}
	in := input{undone: undone, tell: func(m *mock.Machine, now time.Duration) {
		if m.Opening() == attempt {
			f.mu.Lock()
			f.state.err = err
			f.mu.Unlock()
		}
		m.Opened(now, attempt, l, err)
	}}
	if !f.tell(in) {
		undone(nil)
	}
}
