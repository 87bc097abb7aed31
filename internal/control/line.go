package control

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/braid-rdma/braid/cm"
)

// dialTimeout bounds each connection attempt: ample for a busy machine, short
// for somebody who waits.
const dialTimeout = 5 * time.Second

// Line is a conversation with a peer, and the way to further queue pairs with
// the same peer: the calling end asks for each with Connect, and the called one
// grants them with Admit, in the same order.
type Line struct {
	*Talk
	session *Session
	remote  netip.AddrPort
	ticket  uint64 // names the conversation to the called end

	manager  *cm.Manager      // the calling end's
	protocol Protocol         // the calling end's
	requests chan *cm.Request // the called end's
	onClose  func()           // the called end's: nobody can join any more
}

func newLine(s *Session, remote netip.AddrPort, ticket uint64) *Line {
	return &Line{Talk: &Talk{session: s}, session: s, remote: remote, ticket: ticket, onClose: func() {}}
}

// Dial calls the peer that listens at an address, as host:port.
func Dial(ctx context.Context, m *cm.Manager, address string, p Protocol) (*Line, error) {
	s, err := newSession(m.Device())
	if err != nil {
		return nil, err
	}
	conn, err := dial(ctx, m, address, s.options((&hello{Protocol: p, purpose: forTalk}).encode()))
	if err != nil {
		s.release()
		return nil, err
	}
	s.begin(conn)
	if len(conn.PrivateData()) < ticketLen {
		s.Close()
		return nil, fmt.Errorf("%w: it gives no ticket", ErrProtocol)
	}
	l := newLine(s, conn.RemoteAddr(), binary.BigEndian.Uint64(conn.PrivateData()))
	l.manager, l.protocol = m, p
	return l, nil
}

// dial connects within the time that somebody is willing to wait. That the time
// was over is no news to the caller, whose own deadline it was not.
func dial(ctx context.Context, m *cm.Manager, address string, o cm.Options) (*cm.Conn, error) {
	bounded, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	c, err := m.Dial(bounded, address, o)
	if err == nil || ctx.Err() != nil {
		return c, err
	}
	for _, plain := range []error{cm.ErrUnreachable, cm.ErrTimeout} {
		if errors.Is(err, plain) && errors.Is(err, context.DeadlineExceeded) {
			return nil, fmt.Errorf("dial %s: %w; no reply within %v", address, plain, dialTimeout)
		}
	}
	return nil, err
}

// Connect asks the called end for a further queue pair. Of the options, the
// private data is not the caller's to set.
func (l *Line) Connect(ctx context.Context, o cm.Options) (*cm.Conn, error) {
	o.PrivateData = (&hello{Protocol: l.protocol, purpose: forQueue, ticket: l.ticket}).encode()
	return dial(ctx, l.manager, l.remote.String(), o)
}

// Admit waits for the caller to ask for a further queue pair, and grants it.
func (l *Line) Admit(ctx context.Context, o cm.Options) (*cm.Conn, error) {
	select {
	case r := <-l.requests:
		return r.Accept(ctx, o)
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-l.session.Done():
		return nil, l.session.Err()
	}
}

// Close ends the conversation. Queue pairs that came of it live on. Closing
// twice is allowed.
func (l *Line) Close() error {
	l.onClose()
	return l.session.Close()
}
