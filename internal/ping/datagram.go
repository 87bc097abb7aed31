package ping

import (
	"context"

	"github.com/braid-rdma/braid/verbs"
)

// pingDatagram sends a datagram and waits for its reply.
func (p *Peer) pingDatagram(ctx context.Context, probe Probe) (r Result) {
	pr := p.prober
	r.Port = pr.sourcePort(probe.Path)
	r.Stamps[0] = pr.now()
	p.mu.Lock()
	about := p.about
	p.mu.Unlock()
	probe.Size = min(probe.Size, about.mtu)
	r.Probe = probe
	w := &pending{source: p.addr.Addr(), qpn: verbs.QPN(about.qpn), path: uint16(probe.Path), size: probe.Size}
	token, err := pr.await(w)
	if err != nil {
		r.Err = err
		return r
	}
	defer pr.take(token, nil) // if nobody else has
	if r.Err = pr.post(p, &about, w, token); r.Err != nil {
		return r
	}
	select {
	case a := <-w.arrived:
		r.Stamps = Stamps{r.Stamps[0], a.sent, a.header.arrived, a.header.replied, a.at, pr.now()}
		r.PeerPort = a.header.port
	case <-ctx.Done():
		r.Err = ErrLost
	case <-pr.ctx.Done():
		r.Err = ErrClosed
	}
	p.noteDatagram(r.Err == nil)
	return r
}

// post posts a datagram: its header from a slot, the rest from the zeros.
func (p *Prober) post(to *Peer, about *description, w *pending, token uint64) error {
	slot, ok := p.takeSlot(w)
	if !ok {
		return ErrBusy
	}
	offset := int(slot) * headerLen
	h := header{kind: kindProbe, path: w.path, token: token, qkey: p.qkey}
	h.put(p.headers.Bytes()[offset:])
	err := p.qp.PostSend(&verbs.SendWR{
		ID: slot, Op: verbs.OpSend, Flags: verbs.Signaled,
		SGEs: []verbs.SGE{p.headers.SGE(offset, headerLen), p.zeros.SGE(0, w.size-headerLen)},
		AH:   verbs.AHOnPath(to.handle, int(w.path)), RemoteQPN: verbs.QPN(about.qpn), RemoteQKey: verbs.QKey(about.qkey),
	})
	if err != nil {
		p.freeSlot(slot, 0)
	}
	return err
}
