package cm

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync/atomic"

	"github.com/braid-rdma/braid/cm/machine"
	"github.com/braid-rdma/braid/cm/mad"
	"github.com/braid-rdma/braid/verbs"
)

// errPeer marks what is wrong with a peer's request or answer.
var errPeer = errors.New("the peer's parameters do not fit")

// Request is a peer's wish for a connection. Accept or Reject it; a request
// that gets neither is refused after a while.
type Request struct {
	listener *Listener
	conn     *Conn
	req      *mad.REQ
	terms    *terms // nil: a standard peer
	proven   bool   // the peer has proven its address

	answered atomic.Bool
}

// RemoteAddr is the peer's address; the port is what the peer calls its own.
func (r *Request) RemoteAddr() netip.AddrPort { return r.conn.remote }

// PrivateData is what the peer's program sent. That of a standard peer ends in
// zeros that it may not have sent.
func (r *Request) PrivateData() []byte { return r.conn.private }

// MultiPath says whether the peer wants a multi-path queue pair.
func (r *Request) MultiPath() bool { return r.terms != nil && r.terms.multiPath }

// Accept grants the request, and waits until the peer is ready.
func (r *Request) Accept(ctx context.Context, o Options) (*Conn, error) {
	if r.answered.Swap(true) {
		o.discard()
		return nil, ErrAnswered
	}
	c := r.conn
	err := r.grant(&o)
	if err != nil {
		o.discard()
		return nil, fmt.Errorf("accept %v: %w", c.remote, c.abandon(err, refusalOf(err)))
	}
	switch c.manager.runtime.Select(ctx, c.established, c.done) {
	case 0:
		return c, nil
	case 1:
		err = c.abandon(c.Err(), mad.REJ{Reason: mad.ReasonConsumer})
	default:
		err = c.abandon(ctx.Err(), mad.REJ{Reason: mad.ReasonTimeout})
	}
	return nil, fmt.Errorf("accept %v: %w", c.remote, err)
}

// Grant grants the request, and has settled called once: when the peer is ready, or with the reason why it will not be, which
// may be that the listener was closed. No goroutine waits for that. Who learns of it calls settled, before the next datagrams
// are taken, so that it must not wait for the peer.
func (r *Request) Grant(o *Options, settled func(*Conn, error)) {
	if r.answered.Swap(true) {
		o.discard()
		settled(nil, ErrAnswered)
		return
	}
	r.conn.settled.Store(&settled)
	err := r.listener.keep(r.conn)
	if err == nil {
		err = r.grant(o)
	}
	if err != nil {
		o.discard()
		r.conn.fail(err)
	}
}

// grant makes a queue pair ready for the peer and sends the REP.
func (r *Request) grant(o *Options) error {
	c := r.conn
	if err := o.check(c.manager.device); err != nil {
		return err
	}
	granted := *o
	if conn := &granted.QP.Conn; !r.MultiPath() {
		granted.QP.Type, conn.MTU = verbs.RC, mad.MTUOf(conn.MTU).Bytes()
	}
	// Until the RTU the conversation watches the peer, whose queue pair may not be
	// ready to respond to questions.
	c.keepalive, granted.QP.Conn.Keepalive = o.QP.Conn.Keepalive, verbs.None
	q, err := granted.queuePair()
	if err != nil {
		return fmt.Errorf("cm: %w", err)
	}
	if err := c.adopt(q); err != nil {
		q.Close()
		return err
	}
	params, err := q.ParamsFor(c.remote.Addr())
	if err != nil {
		return fmt.Errorf("cm: %w", err)
	}
	c.local = netip.AddrPortFrom(params.Addr, c.local.Port())
	mtu := r.req.MTU.Bytes()
	if r.terms == nil && (mtu == 0 || mtu > params.MTU) {
		return fmt.Errorf("%w: path MTU %d, at most %d here", errMTU, mtu, params.MTU)
	}
	// The answer is made first, because it announces what connect changes.
	rep, err := replyFor(q, &params, r.req, o, r.terms)
	if err != nil {
		return err
	}
	p := remoteEnd{
		addr: c.remote.Addr(), qpn: r.req.QPN, psn: r.req.PSN, reads: r.req.ResponderResources,
		mtu: mtu, terms: r.terms,
	}
	if err := p.connect(q, o, &c.manager.limits); err != nil {
		return fmt.Errorf("cm: %w", err)
	}
	return c.manager.command(func(core *machine.Machine, now machine.Time) error {
		return core.Accept(now, c.id, rep, r.terms != nil)
	})
}

// errMTU is a standard peer's path MTU that the device does not have.
var errMTU = fmt.Errorf("%w: path MTU", errPeer)

// Reject refuses the request; data goes to the peer's program.
func (r *Request) Reject(data []byte) error {
	rej := mad.REJ{Reason: mad.ReasonConsumer}
	if len(data) > len(rej.PrivateData) {
		return fmt.Errorf("%w: %d bytes of at most %d", ErrPrivateData, len(data), len(rej.PrivateData))
	}
	if r.answered.Swap(true) {
		return ErrAnswered
	}
	copy(rej.PrivateData[:], data)
	// A peer that has given up meanwhile wants no answer.
	_ = r.conn.abandon(ErrClosed, rej)
	return nil
}
