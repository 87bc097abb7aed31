package ping

import (
	"context"

	"github.com/braid-rdma/braid/verbs"
)

// pingDatagram sends a datagram and waits for its reply.
func (p *Peer) pingDatagram(ctx context.Context, probe Probe) (r Result) {
	p.mu.Lock()
	about := p.about
	p.mu.Unlock()
	probe.Size = min(probe.Size, about.mtu)
	r.Probe = probe
	pr := p.prober
	w := &pending{source: p.addr.Addr(), qpn: verbs.QPN(about.qpn), path: uint16(probe.Path), size: probe.Size}
	token, err := pr.await(w)
	if err != nil {
		r.Err = err
		return r
	}
	defer pr.take(token, nil) // if nobody else has
	if r.Err = pr.post(p, &probe, &about, token, &r.Stamps); r.Err != nil {
		return r
	}
	r.Port = pr.sourcePort(probe.Path)
	select {
	case a := <-w.arrived:
		r.Stamps[5] = pr.now()
		r.Stamps[2], r.Stamps[3], r.Stamps[4] = a.header.arrived, a.header.replied, a.at
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
func (p *Prober) post(to *Peer, probe *Probe, about *description, token uint64, stamps *Stamps) error {
	slot, ok := p.takeSlot()
	if !ok {
		return ErrBusy
	}
	offset := int(slot) * headerLen
	h := header{kind: kindProbe, path: uint16(probe.Path), token: token, qkey: p.qkey}
	h.put(p.headers.Bytes()[offset:])
	stamps[0] = p.now()
	err := p.qp.PostSend(&verbs.SendWR{
		ID: slot, Op: verbs.OpSend, Flags: verbs.Signaled,
		SGEs: []verbs.SGE{p.headers.SGE(offset, headerLen), p.zeros.SGE(0, probe.Size-headerLen)},
		AH:   verbs.AHOnPath(to.handle, probe.Path), RemoteQPN: verbs.QPN(about.qpn), RemoteQKey: verbs.QKey(about.qkey),
	})
	stamps[1] = p.now()
	if err != nil {
		p.freeSlot(slot)
	}
	return err
}
