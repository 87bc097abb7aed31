package braid

import (
	"context"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/braid-rdma/braid/internal/sched"
	"github.com/braid-rdma/braid/verbs"
)

// token is what the opener of a TCP connection must know, a different one for each end of a
// channel. They are told in the hello.
type token [16]byte

// newToken draws one, from where the keys of memory come from too.
func newToken(e verbs.Engine) (t token) {
	binary.NativeEndian.PutUint64(t[:8], e.Random())
	binary.NativeEndian.PutUint64(t[8:], e.Random())
	return t
}

// The greeting on a TCP connection: the opener sends greetingMagic and the other end's
// token, and gets accepted and its own token, or refused, or the end of the connection.
var greetingMagic = [4]byte{'b', 'r', 'd', 1}

const (
	greetingLen = len(greetingMagic) + len(token{})
	refused     = 0
	accepted    = 1
)

// Limits of a context's TCP. A stranger is a connection that has not shown a token.
const (
	// maxStrangers and maxStrangersAt bound strangers, and those of one address: a flood
	// from one address leaves room for others. As many may come as a context opens at a time.
	maxStrangers   = 256
	maxStrangersAt = maxOpening
	// strangerTime is what a stranger has to show its token, in 20 bytes.
	strangerTime = 2 * time.Second
	// maxTaken is how many connections of a channel's peer there may be, those that are being closed included: each is a
	// file and two goroutines, and an honest peer needs another when the last has failed.
	maxTaken = 8
	// maxOpening is how many connections a context opens at a time: when a network fails, all of its
	// channels want one, perhaps to the same peer.
	maxOpening = 32
	// openPause is before the next attempt where the peer was busy, or had no room for a stranger.
	openPause = 30 * time.Millisecond
	// acceptPause follows an error of accept, such as too many open files.
	acceptPause = 50 * time.Millisecond
)

var (
	errBusy    = errors.New("the peer is opening a TCP connection itself")
	errNoReply = errors.New("the peer has not replied by TCP")
)

// streams are the TCP connections of a context, as long as they belong to no channel.
type streams struct {
	network  streamNetwork
	runtime  sched.Runtime
	listener net.Listener
	places   chan struct{} // one for each that may be opened now

	mu        sync.Mutex
	expected  map[token]*fallback
	strangers []net.Conn
	refused   uint64
	closed    bool
}

// listenStreams listens where the peers of the device's channels can be expected. It returns
// nil if the engine cannot do it.
func listenStreams(n streamNetwork, r sched.Runtime, port int) (*streams, error) {
	l, err := n.ListenStream(port)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("TCP for Mock: %w; choose another MockPort, or turn Mock off", err)
	}
	s := &streams{
		network: n, runtime: r, listener: l, places: make(chan struct{}, maxOpening),
		expected: map[token]*fallback{},
	}
	for range maxOpening {
		s.places <- struct{}{}
	}
	return s, nil
}

func (s *streams) port() uint16 { return uint16(s.listener.Addr().(*net.TCPAddr).Port) }

// serve takes what comes in until the streams are closed.
func (s *streams) serve(greeters *sched.Group) {
	for {
		conn, err := s.listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			s.runtime.Sleep(context.Background(), acceptPause)
		case s.admit(conn):
			greeters.Go(func() { s.greet(conn) })
		default:
			_ = conn.Close()
		}
	}
}

func remoteIP(conn net.Conn) netip.Addr {
	return conn.RemoteAddr().(*net.TCPAddr).AddrPort().Addr().Unmap().WithZone("")
}

// admit makes room for a stranger, if there is any.
func (s *streams) admit(conn net.Conn) bool {
	from, same := remoteIP(conn), 0
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, other := range s.strangers {
		if remoteIP(other) == from {
			same++
		}
	}
	if s.closed || len(s.strangers) >= maxStrangers || same >= maxStrangersAt {
		s.refused++
		return false
	}
	s.strangers = append(s.strangers, conn)
	return true
}

// greet finds the channel that a connection is for.
func (s *streams) greet(conn net.Conn) {
	_ = conn.SetDeadline(s.runtime.Clock().Add(strangerTime))
	var b [greetingLen]byte
	_, err := io.ReadFull(conn, b[:])
	f := s.recognise(conn, &b, err == nil)
	if f == nil || !f.mayTake() {
		_ = conn.Close()
		return
	}
	f.offer(conn)
}

// recognise says whom a greeting is for, and forgets the stranger.
func (s *streams) recognise(conn net.Conn, b *[greetingLen]byte, whole bool) *fallback {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.strangers = slices.DeleteFunc(s.strangers, func(other net.Conn) bool { return other == conn })
	if whole && !s.closed && [4]byte(b[:4]) == greetingMagic {
		f := s.expected[token(b[4:])]
		if f != nil && f.ch.conn.RemoteAddr().Addr().Unmap().WithZone("") == remoteIP(conn) {
			return f
		}
	}
	s.refused++
	return nil
}

// expect makes a channel known to those who open a connection for it; forget ends that.
func (s *streams) expect(f *fallback) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expected[f.own] = f
}

func (s *streams) forget(f *fallback) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.expected, f.own)
}

// open opens a connection to the peer of a channel. A peer that closes it without a word may have
// had too many strangers; one that is busy opens a connection itself, which ends this attempt, or
// does not know yet that an earlier one has ended.
func (s *streams) open(ctx context.Context, f *fallback) (net.Conn, error) {
	for {
		conn, err := s.try(ctx, f)
		if err == nil || !errors.Is(err, errNoReply) && !errors.Is(err, errBusy) {
			return conn, err
		}
		if s.runtime.Sleep(ctx, openPause); ctx.Err() != nil {
			return nil, err
		}
	}
}

// try opens a connection and shows the peer its token.
func (s *streams) try(ctx context.Context, f *fallback) (net.Conn, error) {
	if s.runtime.Select(ctx, s.places) == sched.Ended {
		return nil, ctx.Err()
	}
	defer func() { s.places <- struct{}{} }()
	conn, err := s.network.DialStream(ctx, netip.AddrPortFrom(f.ch.conn.RemoteAddr().Addr(), f.peerPort))
	if err != nil {
		return nil, err
	}
	stop := s.runtime.AfterFunc(ctx, func() { _ = conn.Close() })
	err = introduce(conn, f)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// introduce is the opener's part of the greeting.
func introduce(conn net.Conn, f *fallback) error {
	var verdict [1]byte
	_, err := conn.Write(append(greetingMagic[:len(greetingMagic):len(greetingMagic)], f.peer[:]...))
	if err == nil {
		_, err = io.ReadFull(conn, verdict[:])
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errNoReply, err)
	}
	if verdict[0] != accepted {
		return errBusy
	}
	var proof token
	if _, err := io.ReadFull(conn, proof[:]); err != nil {
		return err
	}
	if subtle.ConstantTimeCompare(proof[:], f.own[:]) != 1 {
		return fmt.Errorf("%w: it does not know the channel", ErrPeer)
	}
	return nil
}

// close stops listening and ends what belongs to no channel.
func (s *streams) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	_ = s.listener.Close()
	for _, conn := range s.strangers {
		_ = conn.Close()
	}
}

// strangersRefused counts connections that belonged to no channel.
func (s *streams) strangersRefused() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused
}
