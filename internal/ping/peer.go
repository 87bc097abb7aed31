package ping

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/verbs"
)

// Peer is a host with a responder.
type Peer struct {
	prober *Prober
	addr   netip.AddrPort // of the connection manager
	handle verbs.AH

	learning sync.Mutex // who holds it asks the peer who it is

	mu          sync.Mutex
	about       description
	lost        int // datagrams in a row
	closed      bool
	connections map[connectionKey]*connection
}

// Connect finds the responder of a host at a port of the connection manager.
func (p *Prober) Connect(ctx context.Context, host string, port uint16) (*Peer, error) {
	addr, err := p.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	peer := &Peer{prober: p, addr: netip.AddrPortFrom(addr, port), connections: map[connectionKey]*connection{}}
	if err := peer.learn(ctx); err != nil {
		return nil, err
	}
	if peer.handle, err = p.pd.CreateAH(addr); err != nil {
		return nil, fmt.Errorf("ping: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	p.peers[peer] = struct{}{}
	return peer, nil
}

// resolve finds the address of a host, one that the device has a route to.
func (p *Prober) resolve(ctx context.Context, host string) (netip.Addr, error) {
	var addrs []netip.Addr
	if addr, err := netip.ParseAddr(host); err == nil {
		addrs = []netip.Addr{addr}
	} else if addrs, err = net.DefaultResolver.LookupNetIP(ctx, "ip", host); err != nil {
		return netip.Addr{}, fmt.Errorf("%w: %w", ErrNoHost, err)
	}
	var noRoute error
	for _, addr := range addrs {
		route, err := p.device.RouteTo(addr)
		if err == nil {
			return route.Remote, nil
		}
		noRoute = err
	}
	return netip.Addr{}, fmt.Errorf("%w: %w", ErrNoRoute, noRoute)
}

// Addr is the peer's address.
func (p *Peer) Addr() netip.Addr { return p.addr.Addr() }

// Ping sends a probe and waits for its reply, until ctx ends.
func (p *Peer) Ping(ctx context.Context, probe Probe) Result {
	if err := probe.check(p.prober.paths); err != nil {
		return Result{Probe: probe, Err: err}
	}
	if probe.By == UD {
		return p.pingDatagram(ctx, probe)
	}
	return p.pingWrite(ctx, probe)
}

// learn asks the peer who it is. A responder rejects the request, and says it with that: so
// it keeps nothing for it.
func (p *Peer) learn(ctx context.Context) error {
	pr := p.prober
	c, err := pr.manager.Dial(ctx, p.addr.String(), cm.Options{
		PD: pr.pd, PrivateData: appendRequest(nil, kindDescribe, 0),
		QP: verbs.QPOptions{SendCQ: pr.cq, SendDepth: 1, RecvDepth: 1, MaxInline: verbs.None},
	})
	if err == nil {
		_ = c.Close() // never fails
		return fmt.Errorf("%w at %v: another program accepts connections there", ErrNoResponder, p.addr)
	}
	var rejected *cm.RejectError
	if !errors.As(err, &rejected) || errors.Is(err, cm.ErrRefused) {
		return fmt.Errorf("%w at %v: %w", ErrNoResponder, p.addr, err)
	}
	about, err := parseDescription(rejected.PrivateData)
	if err != nil {
		return fmt.Errorf("%w at %v: %w", ErrNoResponder, p.addr, err)
	}
	about.mtu = min(about.mtu, datagramMTU(pr.device, p.addr.Addr()))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.about = about
	return nil
}

// noteDatagram counts losses, and asks who the peer is when there are many in a row: one that was
// started anew has another queue pair. One that is gone stays what it was.
func (p *Peer) noteDatagram(replied bool) {
	p.mu.Lock()
	if replied {
		p.lost = 0
	} else {
		p.lost++
	}
	ask := !replied && p.lost%relearnAfter == 0
	p.mu.Unlock()
	if !ask || !p.learning.TryLock() {
		return
	}
	started := p.prober.start(func() {
		defer p.learning.Unlock()
		within, cancel := context.WithTimeout(p.prober.ctx, relearnTime)
		defer cancel()
		_ = p.learn(within) // the losses tell it
	})
	if !started {
		p.learning.Unlock()
	}
}
