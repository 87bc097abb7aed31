package ping

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/verbs"
)

// acceptAll takes requests of probers, which have proven their addresses.
func (r *Responder) acceptAll(ctx context.Context, all *sync.WaitGroup) error {
	for {
		request, err := r.listener.Next(ctx)
		if err != nil {
			return err
		}
		r.answer(ctx, request, all)
	}
}

// answer rejects a request with the description that it asks for, or makes the connection that it
// asks for, if there is room.
func (r *Responder) answer(ctx context.Context, request *cm.Request, all *sync.WaitGroup) {
	from := request.RemoteAddr().Addr()
	wants, path, err := parseRequest(request.PrivateData())
	var refusal []byte
	switch {
	case err != nil:
		r.malformed.Add(1)
	case wants == kindDescribe:
		refusal = r.describe(from)
	case !r.enter(from):
		r.busy.Add(1)
		refusal = []byte(busyText)
	default:
		all.Go(func() {
			defer r.leave(from)
			r.serveWrites(ctx, request, path%r.paths)
		})
		return
	}
	_ = request.Reject(refusal) // it fails only for who has been answered
}

// busyText is what a prober is told that finds no room.
const busyText = "busy"

// describe is the description for a prober.
func (r *Responder) describe(prober netip.Addr) []byte {
	d := description{qpn: uint32(r.qp.Number()), qkey: r.qkey, mtu: datagramMTU(r.device, prober)}
	return d.append(nil)
}

// datagramMTU is the longest datagram to a peer.
func datagramMTU(d *verbs.Device, peer netip.Addr) int {
	mtu := d.Query().MTU
	if route, err := d.RouteTo(peer); err == nil {
		mtu = min(mtu, route.MTU)
	}
	return mtu
}

// enter counts a connection of an address, if there is room for it.
func (r *Responder) enter(from netip.Addr) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.connections >= r.o.Connections || r.byAddress[from] >= max(1, r.o.Connections/addressShare) {
		return false
	}
	r.connections++
	r.byAddress[from]++
	return true
}

// leave counts its end.
func (r *Responder) leave(from netip.Addr) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.connections--
	if r.byAddress[from]--; r.byAddress[from] == 0 {
		delete(r.byAddress, from)
	}
}

// serveWrites makes a connection and keeps it while it is used. All connections write to the same
// memory: what is there means nothing, and so a connection costs a queue pair and no more.
func (r *Responder) serveWrites(ctx context.Context, request *cm.Request, path int) {
	g := grant{addr: r.target.Addr(), rkey: uint32(r.target.RKey()), length: r.target.Len()}
	o := cm.Options{
		PD: r.pd, PrivateData: g.append(nil),
		QP: verbs.QPOptions{Type: verbs.MP, SendCQ: r.cq, SendDepth: 1, RecvDepth: 1, MaxSendSGE: 1, MaxRecvSGE: 1, MaxInline: verbs.None},
	}
	o.QP.RC.Path = path + 1
	within, cancel := context.WithTimeout(ctx, acceptTime)
	defer cancel()
	c, err := request.Accept(within, o)
	if err != nil {
		return // the prober has given up
	}
	r.granted.Add(1)
	r.awaitIdle(ctx, c)
	_ = c.Close() // never fails
}

// awaitIdle returns when a connection has ended, or has carried nothing for a while.
func (r *Responder) awaitIdle(ctx context.Context, c *cm.Conn) {
	ticker := time.NewTicker(r.o.Idle)
	defer ticker.Stop()
	for last := uint64(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-c.Done():
			return
		case <-ticker.C:
		}
		now := c.QP().Stats().BytesReceived
		if now == last {
			return
		}
		last = now
	}
}
