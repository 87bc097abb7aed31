package ping

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/verbs"
)

// connectionKey tells the connections to a peer apart.
type connectionKey struct {
	by   By
	path int // AnyPath for MP
}

// connection is one that WRITEs go by, once there is one.
type connection struct {
	held chan struct{} // full while somebody looks whether there is one, or makes it

	// The rest is under held.
	conn   *cm.Conn // nil: none
	to     grant
	closed bool
}

// pingWrite writes to the peer's memory and waits for the completion.
func (p *Peer) pingWrite(ctx context.Context, probe Probe) (r Result) {
	if probe.By == MP {
		probe.Path = AnyPath
	}
	r.Probe = probe
	pr := p.prober
	qp, to, err := p.connected(ctx, connectionKey{probe.By, probe.Path})
	if err != nil {
		r.Err = err
		return r
	}
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
		r.Err = fmt.Errorf("%w: the probes before it wait for their acknowledgements", ErrBusy)
		return r
	} else if err != nil {
		r.Err = err
		return r
	}
	select {
	case a := <-w.arrived:
		r.Stamps[5], r.Stamps[4], r.Err = pr.now(), a.at, a.err
	case <-ctx.Done():
		r.Err = ErrLost
	case <-pr.ctx.Done():
		r.Err = ErrClosed
	}
	r.Retransmitted = qp.Stats().Retransmitted - before
	return r
}

// connected is the queue pair of a connection, which is made if there is none that lives.
func (p *Peer) connected(ctx context.Context, key connectionKey) (*verbs.QP, grant, error) {
	c, err := p.connection(key)
	if err != nil {
		return nil, grant{}, err
	}
	select {
	case c.held <- struct{}{}:
		defer func() { <-c.held }()
	case <-ctx.Done():
		return nil, grant{}, ErrLost // another probe has been waiting for the connection
	}
	if c.closed {
		return nil, grant{}, ErrClosed
	}
	if c.conn != nil && c.conn.Err() != nil {
		p.prober.closeLater(c.conn)
		c.conn = nil
	}
	if c.conn == nil {
		if c.conn, c.to, err = p.dial(ctx, key); err != nil {
			return nil, grant{}, err
		}
	}
	return c.conn.QP(), c.to, nil
}

// connection is the record of a connection.
func (p *Peer) connection(key connectionKey) (*connection, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	if c := p.connections[key]; c != nil {
		return c, nil
	}
	pr := p.prober
	pr.mu.Lock()
	defer pr.mu.Unlock()
	if pr.writers >= maxWriters {
		return nil, ErrBusy
	}
	pr.writers++
	c := &connection{held: make(chan struct{}, 1)}
	p.connections[key] = c
	return c, nil
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

// Close ends the connections to the peer. Nothing is sent to it from then on.
func (p *Peer) Close() {
	pr := p.prober
	p.mu.Lock()
	closed, connections := p.closed, p.connections
	p.closed, p.connections = true, nil
	p.mu.Unlock()
	if closed {
		return
	}
	var all sync.WaitGroup
	for _, c := range connections {
		all.Go(c.close)
	}
	all.Wait()
	pr.mu.Lock()
	delete(pr.peers, p)
	pr.writers -= len(connections)
	pr.mu.Unlock()
	pr.pd.DestroyAH(p.handle)
}

// close waits for a probe that makes the connection just now.
func (c *connection) close() {
	c.held <- struct{}{}
	if c.conn != nil {
		_ = c.conn.Close() // never fails
		c.conn = nil
	}
	c.closed = true
	<-c.held
}

// PathsOfMP are the counters of the paths of the multi-path connection to the peer, if there is one.
func (p *Peer) PathsOfMP() []verbs.PathStats {
	p.mu.Lock()
	c := p.connections[connectionKey{MP, AnyPath}]
	p.mu.Unlock()
	if c == nil {
		return nil
	}
	c.held <- struct{}{}
	defer func() { <-c.held }()
	if c.conn == nil {
		return nil
	}
	return c.conn.QP().PathStats()
}
