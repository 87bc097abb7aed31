package ping

import (
	"context"
	"time"

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
	if r.Stamps[1], r.Err = pr.post(p, &about, w, token); r.Err != nil {
		return r
	}
	select {
	case a := <-w.arrived:
		r.Stamps = Stamps{r.Stamps[0], r.Stamps[1], a.header.arrived, a.header.replied, a.at, pr.now()}
		r.PeerPort = a.header.port
	case <-ctx.Done():
		r.Err = ErrLost
	case <-pr.ctx.Done():
		r.Err = ErrClosed
	}
	p.noteDatagram(r.Err == nil)
	return r
}

// post posts a datagram: its header from a slot, the rest from the zeros. It returns when the datagram
// was sent.
func (p *Prober) post(to *Peer, about *description, w *pending, token uint64) (sent time.Duration, err error) {
	p.posting.Lock()
	defer p.posting.Unlock()
	last := len(p.slots) - 1
	if last < 0 {
		p.takeSent()
		return 0, ErrBusy
	}
	slot := p.slots[last]
	offset := int(slot) * headerLen
	h := header{kind: kindProbe, path: w.path, token: token, qkey: p.qkey}
	h.put(p.headers.Bytes()[offset:])
	p.sentAt[slot] = p.now() // or when it is sent, but that may be later
	err = p.qp.PostSend(&verbs.SendWR{
		ID: slot, Op: verbs.OpSend, Flags: verbs.Signaled,
		SGEs: []verbs.SGE{p.headers.SGE(offset, headerLen), p.zeros.SGE(0, w.size-headerLen)},
		AH:   verbs.AHOnPath(to.handle, int(w.path)), RemoteQPN: verbs.QPN(about.qpn), RemoteQKey: verbs.QKey(about.qkey),
	})
	if err != nil {
		return 0, err
	}
	p.slots = p.slots[:last]
	p.takeSent()
	return p.sentAt[slot], nil
}

// takeSent notes when datagrams were sent: mostly the one that was just posted, since a post sends it if
// the network takes it. Their slots are free again.
func (p *Prober) takeSent() {
	var done [8]verbs.Completion
	var at [len(done)]verbs.Time
	n, _ := p.sent.PollStamped(done[:], at[:]) // an error is that of a device which has been closed
	for i, c := range done[:n] {
		p.sentAt[c.WRID] = time.Duration(at[i])
		p.slots = append(p.slots, c.WRID)
	}
}
