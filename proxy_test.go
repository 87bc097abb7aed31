package braid

import (
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"
)

// proxy stands between the ends of a channel's TCP connections, which it can reset and stall.
type proxy struct {
	listener net.Listener
	running  sync.WaitGroup

	mu      sync.Mutex
	conns   []*net.TCPConn
	stalled chan struct{} // closed at the end of the test
	silent  bool
}

// newProxy has the side that has dialled a channel open its connections through a proxy.
func newProxy(t *testing.T, ch *Channel) *proxy {
	t.Helper()
	remote, local := ch.RemoteAddr().Addr(), ch.LocalAddr().Addr()
	l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(remote, 0)))
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, stalled: make(chan struct{})}
	target := net.TCPAddrFromAddrPort(netip.AddrPortFrom(remote, ch.fallback.peerPort))
	from := net.TCPAddrFromAddrPort(netip.AddrPortFrom(local, 0)) // the peer expects it from there
	ch.fallback.peerPort = uint16(l.Addr().(*net.TCPAddr).Port)
	p.running.Go(func() {
		for {
			in, err := l.AcceptTCP()
			if err != nil {
				return
			}
			out, err := net.DialTCP("tcp", from, target)
			if err != nil {
				t.Error(err)
				return
			}
			p.mu.Lock()
			p.conns = append(p.conns, in, out)
			p.mu.Unlock()
			p.running.Go(func() { p.copy(out, in) })
			p.running.Go(func() { p.copy(in, out) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		close(p.stalled)
		p.reset()
		p.running.Wait()
	})
	return p
}

func (p *proxy) copy(to, from *net.TCPConn) {
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		if err != nil {
			to.CloseWrite()
			return
		}
		p.mu.Lock()
		stalled := p.silent
		p.mu.Unlock()
		if stalled {
			<-p.stalled
			return
		}
		if _, err := to.Write(b[:n]); err != nil {
			io.Copy(io.Discard, from)
			return
		}
	}
}

// stall carries nothing from now on, and does not say so.
func (p *proxy) stall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent = true
}

// reset resets all connections.
func (p *proxy) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.SetLinger(0)
		c.Close()
	}
	p.conns = nil
}
