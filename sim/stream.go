package sim

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"time"
)

var (
	errReset    = errors.New("sim: the connection is reset")
	errTimedOut = errors.New("sim: the peer has acknowledged nothing for too long")
	errFinished = errors.New("sim: the stream is closed for writing")
)

const (
	// streamBuffer is what a stream takes before the peer has read it, as a socket does.
	streamBuffer = 1 << 20
	// streamSegment is how much arrives at once.
	streamSegment = 16 << 10
)

// streamEnd is one end of a connection between programs. Its calls block as those of a socket do, and
// must come from goroutines of the host. Bytes count as acknowledged when the peer's program has
// read them.
type streamEnd struct {
	host          *host
	peer          *streamEnd
	line          *streamLine // to the peer
	local, remote *net.TCPAddr

	in       []byte // has arrived and was not read
	ended    bool   // nothing more will arrive
	unread   int    // bytes that were written and not acknowledged
	finished bool   // nothing more is written
	closed   bool
	failed   error
	readBy   Time
	writeBy  Time

	userTimeout  Time // without an acknowledgement; 0: none
	acknowledged Time // when something was, or nothing was to be
	watched      bool // an event is pending that looks
}

var _ net.Conn = (*streamEnd)(nil)

// newStreams makes both ends of a connection.
func newStreams(from, to *host, port int) (ours, theirs *streamEnd) {
	ours = &streamEnd{host: from, line: from.lineTo(to.number), local: from.newPort(), remote: to.portAddr(port), readBy: never, writeBy: never}
	theirs = &streamEnd{host: to, line: to.lineTo(from.number), local: ours.remote, remote: ours.local, readBy: never, writeBy: never}
	ours.peer, theirs.peer = theirs, ours
	return ours, theirs
}

// start makes the stream the program's.
func (s *streamEnd) start() net.Conn {
	s.host.streams.open = append(s.host.streams.open, s)
	if layer := s.host.net.layers.Stream; layer != nil {
		return layer(s)
	}
	return s
}

// Read implements net.Conn.
func (s *streamEnd) Read(b []byte) (int, error) {
	s.wait(func() bool {
		return len(s.in) > 0 || s.ended || s.failed != nil || s.closed || s.host.now() >= s.readBy
	})
	switch {
	case s.closed:
		return 0, net.ErrClosed
	case s.failed != nil:
		return 0, s.failed
	case len(s.in) > 0:
		n := copy(b, s.in)
		s.in = s.in[n:]
		s.line.carry(0, func() { s.peer.acknowledge(n) })
		return n, nil
	case s.ended:
		return 0, io.EOF
	}
	return 0, os.ErrDeadlineExceeded
}

// Write implements net.Conn.
func (s *streamEnd) Write(b []byte) (written int, err error) {
	for written < len(b) {
		s.wait(func() bool {
			return s.unread < streamBuffer || s.finished || s.failed != nil || s.closed || s.host.now() >= s.writeBy
		})
		switch {
		case s.closed:
			return written, net.ErrClosed
		case s.failed != nil:
			return written, s.failed
		case s.finished:
			return written, errFinished
		case s.host.now() >= s.writeBy:
			return written, os.ErrDeadlineExceeded
		}
		n := min(len(b)-written, streamSegment)
		s.send(slices.Clone(b[written : written+n]))
		written += n
	}
	return written, nil
}

func (s *streamEnd) wait(ready func() bool) {
	_ = s.host.Wait(context.Background(), ready) // it has no end
}

// send lets bytes arrive at the peer, unless this end has given up before.
func (s *streamEnd) send(b []byte) {
	if s.unread == 0 {
		s.acknowledged = s.host.now()
	}
	s.unread += len(b)
	s.watch()
	s.line.carry(len(b), func() {
		if s.failed == nil {
			s.peer.arrive(b)
		}
	})
}

// arrive takes bytes of the peer. An end that is gone says so.
func (s *streamEnd) arrive(b []byte) {
	if s.closed || s.failed != nil {
		s.reset()
		return
	}
	s.in = append(s.in, b...)
	s.host.Wake()
}

func (s *streamEnd) reset() { s.line.carry(0, func() { s.peer.fail(errReset) }) }

// acknowledge notes that the peer's program has read something.
func (s *streamEnd) acknowledge(n int) {
	s.unread -= n
	s.acknowledged = s.host.now()
	s.host.Wake()
}

// fail ends the stream at this end. What has arrived is lost.
func (s *streamEnd) fail(err error) {
	if s.failed == nil {
		s.failed, s.in = err, nil
		s.host.Wake()
	}
}

// SetUserTimeout is the socket option TCP_USER_TIMEOUT: the stream fails, and what is on its way is
// lost, when nothing was acknowledged for so long.
func (s *streamEnd) SetUserTimeout(d time.Duration) {
	s.userTimeout = Time(d) * Nanosecond
	s.watch()
}

// watch looks, when it may be due, whether the user timeout has passed.
func (s *streamEnd) watch() {
	if s.watched || s.userTimeout == 0 || s.unread == 0 || s.failed != nil {
		return
	}
	s.watched = true
	s.host.call(max(s.host.now(), s.acknowledged+s.userTimeout), func() {
		s.watched = false
		if s.unread > 0 && s.host.now() >= s.acknowledged+s.userTimeout {
			s.fail(errTimedOut)
		}
		s.watch()
	})
}

// CloseWrite tells the peer that nothing more comes.
func (s *streamEnd) CloseWrite() error {
	switch {
	case s.closed:
		return net.ErrClosed
	case s.failed != nil:
		return s.failed
	}
	s.finish()
	return nil
}

func (s *streamEnd) finish() {
	if s.finished {
		return
	}
	s.finished = true
	s.line.carry(0, func() {
		if s.failed == nil {
			s.peer.ended = true
			s.peer.host.Wake()
		}
	})
}

// Close implements net.Conn. What was written still arrives, unless something has come that
// was not read: then the peer loses what it has not read either, as with a socket.
func (s *streamEnd) Close() error {
	if s.closed {
		return net.ErrClosed
	}
	s.closed = true
	all := &s.host.streams
	all.open = slices.DeleteFunc(all.open, func(o *streamEnd) bool { return o == s })
	switch {
	case s.failed != nil:
	case len(s.in) > 0:
		s.reset()
	default:
		s.finish()
	}
	s.host.Wake()
	return nil
}

// LocalAddr implements net.Conn.
func (s *streamEnd) LocalAddr() net.Addr { return s.local }

// RemoteAddr implements net.Conn.
func (s *streamEnd) RemoteAddr() net.Addr { return s.remote }

// SetDeadline implements net.Conn. Times are those of sched.Runtime.Clock.
func (s *streamEnd) SetDeadline(t time.Time) error {
	_ = s.SetReadDeadline(t) // as good as the next
	return s.SetWriteDeadline(t)
}

// SetReadDeadline implements net.Conn.
func (s *streamEnd) SetReadDeadline(t time.Time) error { return s.setDeadline(&s.readBy, t) }

// SetWriteDeadline implements net.Conn.
func (s *streamEnd) SetWriteDeadline(t time.Time) error { return s.setDeadline(&s.writeBy, t) }

func (s *streamEnd) setDeadline(by *Time, t time.Time) error {
	if s.closed {
		return net.ErrClosed
	}
	*by = never
	if !t.IsZero() {
		*by = Time(t.UnixNano()) * Nanosecond
		s.host.call(max(s.host.now(), *by), s.host.Wake)
	}
	s.host.Wake()
	return nil
}
