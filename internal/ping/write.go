package ping

import (
	"context"
	"errors"
	"fmt"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/verbs"
)

// pingWrite writes to the peer's memory and waits for the completion.
func (p *Peer) pingWrite(ctx context.Context, probe Probe) (r Result) {
	if probe.By == MP {
		probe.Path = AnyPath
	}
	r.Probe = probe
	pr := p.prober
	c, err := p.connected(ctx, connectionKey{probe.By, probe.Path})
	if err != nil {
		r.Err = err
		return r
	}
	defer c.leave()
	qp, to := c.qp, c.to
	if r.Size = min(probe.Size, to.length); probe.By == RC {
		r.Port = pr.sourcePort(probe.Path)
	}
	r.Stamps[0] = pr.now()
	w := &pending{}
	token, err := pr.await(w)
	if err != nil {
		r.Err = err
		return r
	}
	defer pr.take(token, nil) // if nobody else has
	before := qp.Stats().Retransmitted
	wr := verbs.SendWR{
		ID: token, Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: []verbs.SGE{pr.zeros.SGE(0, r.Size)},
		RemoteAddr: to.addr, RKey: verbs.RKey(to.rkey),
	}
	r.Stamps[1] = pr.now()
	if err := qp.PostSend(&wr); errors.Is(err, verbs.ErrQueueFull) {
		r.Err = c.full()
		return r
	} else if err != nil {
		r.Err = err
		return r
	}
	select {
	case a := <-w.arrived:
		r.Stamps[5], r.Stamps[4], r.Err = pr.now(), a.at, a.err
		c.silent.Store(false)
	case <-ctx.Done():
		r.Err = ErrLost
		c.silent.Store(true)
	case <-pr.ctx.Done():
		r.Err = ErrClosed
	}
	r.Retransmitted = qp.Stats().Retransmitted - before
	return r
}

// dial makes a connection.
func (p *Peer) dial(ctx context.Context, key connectionKey) (*cm.Conn, grant, error) {
	pr := p.prober
	o := cm.Options{
		PD: pr.pd, PrivateData: appendRequest(nil, kindWrite, max(0, key.path)),
		QP: verbs.QPOptions{SendCQ: pr.cq, SendDepth: writerDepth, RecvDepth: 1, MaxInline: verbs.None},
	}
	if key.by == MP {
		o.QP.Type, o.QP.Conn.Paths = verbs.MP, pr.o.MPPaths
	} else {
		o.QP.RC.Path = key.path + 1
	}
	c, err := pr.manager.Dial(ctx, p.addr.String(), o)
	if err != nil {
		return nil, grant{}, dialError(err)
	}
	to, err := parseGrant(c.PrivateData())
	if err == nil && to.length < MinSize {
		err = errFormat
	}
	if err == nil && key.by == MP && c.QP().Type() != verbs.MP {
		err = errors.New("ping: the peer has no multi-path connections")
	}
	if err != nil {
		pr.closeLater(c)
		return nil, grant{}, err
	}
	return c, to, nil
}

// dialError says what it means that there is no connection.
func dialError(err error) error {
	var rejected *cm.RejectError
	if errors.As(err, &rejected) && string(rejected.PrivateData) == busyText {
		return fmt.Errorf("%w: the responder has no room for a connection", ErrBusy)
	}
	return fmt.Errorf("%w: %w", ErrLost, err)
}

// closeLater closes a connection, which waits for the peer.
func (p *Prober) closeLater(c *cm.Conn) {
	if !p.start(func() { _ = c.Close() }) {
		_ = c.Close() // never fails
	}
}
