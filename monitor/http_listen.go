package monitor

import (
	"net"
	"net/netip"
	"sync"
)

// fairListener closes what one address opens beyond maxNeighbours, so that nobody has all the connections that there may be.
type fairListener struct {
	net.Listener

	mu   sync.Mutex
	open map[netip.Prefix]int
}

// Accept implements net.Listener.
func (l *fairListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := neighbourhood(c.RemoteAddr().String())
		if l.enter(from) {
			return &neighbour{Conn: c, leave: sync.OnceFunc(func() { l.leave(from) })}, nil
		}
		_ = c.Close() // nothing was said yet
	}
}

func (l *fairListener) enter(from netip.Prefix) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[from] >= maxNeighbours {
		return false
	}
	l.open[from]++
	return true
}

func (l *fairListener) leave(from netip.Prefix) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[from]--; l.open[from] == 0 {
		delete(l.open, from)
	}
}

// neighbour is a connection that counts until it is closed.
type neighbour struct {
	net.Conn
	leave func()
}

// Close implements net.Conn.
func (c *neighbour) Close() error {
	c.leave()
	return c.Conn.Close()
}
