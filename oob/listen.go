package oob

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Listener accepts connections of peers.
type Listener struct {
	tcp      net.Listener
	accepted chan *Conn
	closing  chan struct{}
	once     sync.Once
	done     sync.WaitGroup
}

// Listen listens on an address, as host:port; port 0 takes a free one.
func Listen(addr string) (*Listener, error) {
	tcp, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, explainListen(addr, err)
	}
	l := &Listener{tcp: tcp, accepted: make(chan *Conn), closing: make(chan struct{})}
	l.done.Go(l.run)
	return l, nil
}

// Addr is the address listened on.
func (l *Listener) Addr() net.Addr { return l.tcp.Addr() }

// Accept waits for a connection. Nothing has been read from it yet: serve each
// in a goroutine of its own, so that a peer which says nothing holds up no other.
func (l *Listener) Accept(ctx context.Context) (*Conn, error) {
	select {
	case c := <-l.accepted:
		return c, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-l.closing:
		return nil, fmt.Errorf("%w: listener", ErrClosed)
	}
}

// Close stops listening. Connections that were accepted live on.
func (l *Listener) Close() error {
	l.once.Do(func() {
		close(l.closing)
		l.tcp.Close()
	})
	l.done.Wait()
	return nil
}

// run accepts until the listener is closed. Other failures, such as too many
// open files, pass: it waits a little and tries again.
func (l *Listener) run() {
	const longestPause = time.Second
	pause := 5 * time.Millisecond
	for {
		tcp, err := l.tcp.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			select {
			case <-time.After(pause):
			case <-l.closing:
				return
			}
			pause = min(2*pause, longestPause)
			continue
		}
		pause = 5 * time.Millisecond
		select {
		case l.accepted <- newConn(tcp, false):
		case <-l.closing:
			tcp.Close()
			return
		}
	}
}
