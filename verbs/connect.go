package verbs

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/wire"
)

// ConnParams describe one end of a connection to the other: what the two sides
// exchange, by package cm or by any other means, before they connect.
type ConnParams struct {
	Type         QPType
	Addr         netip.Addr
	QPN          QPN
	PSN          PSN // of the first packet that this end sends
	MTU          int // the largest that this end wants
	Paths        int // MP: the virtual paths that this end wants
	TrackedSlots int // MP: L, the packets that this end tracks out of order
	Window       int // packets that this end can take before it must have run; 0: not said
	ReadsServed  int // READs and atomics that this end serves at a time
}

// Check refuses parameters that no peer can have.
func (c *ConnParams) Check() error {
	slots := c.TrackedSlots
	switch {
	case c.Type > UD:
		return fmt.Errorf("%w: queue pair type %d", ErrParams, c.Type)
	case !c.Addr.IsValid() || c.Addr.IsUnspecified() || c.Addr.IsMulticast():
		return fmt.Errorf("%w: address %v", ErrParams, c.Addr)
	case c.QPN < minQPN || c.QPN > maxQPN:
		return fmt.Errorf("%w: queue pair number %v", ErrParams, c.QPN)
	case c.PSN > wire.PSNMask:
		return fmt.Errorf("%w: packet number %#x beyond 24 bits", ErrParams, uint32(c.PSN))
	case !validMTU(c.Type, c.MTU):
		return fmt.Errorf("%w: path MTU %d", ErrParams, c.MTU)
	case c.Paths < 1 || c.Paths > transport.MaxPaths:
		return fmt.Errorf("%w: %d paths", ErrParams, c.Paths)
	case c.Type == MP && (slots < 2 || slots > transport.MaxTrackingSlots || slots&(slots-1) != 0):
		return fmt.Errorf("%w: %d tracked packets", ErrParams, slots)
	case c.Window < 0 || c.Window > transport.MaxTrackingSlots:
		return fmt.Errorf("%w: window of %d packets", ErrParams, c.Window)
	case c.ReadsServed < 0 || c.ReadsServed > transport.MaxReads:
		return fmt.Errorf("%w: %d outstanding reads", ErrParams, c.ReadsServed)
	}
	return nil
}

// Params describe this end to a peer. They change when the queue pair is
// reset, since each connection begins with a packet number of its own. On a
// device that was opened without an address they suit peers on this host only;
// ParamsFor suits all.
func (q *QP) Params() ConnParams {
	q.loop.Lock()
	defer q.loop.Unlock()
	return q.paramsLocked(&Route{Local: q.device.info.Local, MTU: q.device.info.MTUOf(MP)})
}

// ParamsFor describe this end to the peer at an address: with the address and
// the path MTU that the route to it has.
func (q *QP) ParamsFor(remote netip.Addr) (ConnParams, error) {
	route, err := q.lockTowards(remote)
	if err != nil {
		return ConnParams{}, err
	}
	defer q.loop.Unlock()
	return q.paramsLocked(&route), nil
}

func (q *QP) paramsLocked(route *Route) ConnParams {
	o, info := &q.options, &q.device.info
	mtu := min(o.Conn.MTU, route.MTU)
	if q.kind != MP {
		mtu = transport.StandardMTU(mtu)
	}
	p := ConnParams{
		Type: q.kind, Addr: route.Local, QPN: q.number, PSN: q.firstPSN,
		MTU: mtu, Paths: o.Conn.Paths,
		Window:      min(info.Window, transport.MaxTrackingSlots),
		ReadsServed: plain(o.Conn.ReadsServed),
	}
	if q.kind == MP {
		p.TrackedSlots = o.MP.Slots
	}
	return p
}

// Connect connects an RC or MP queue pair to the peer that remote describes:
// from RESET through INIT and RTR to RTS. Both ends do so, each with the
// other's parameters, and come to the same path MTU and number of paths. If a step
// fails the queue pair is in RESET; parameters that are refused, and a peer to which
// there is no way, leave its state alone. Receives that the peer may need at once are
// posted before, in state INIT (see Prepare).
func (q *QP) Connect(remote ConnParams) error {
	if err := remote.Check(); err != nil {
		return err
	}
	route, err := q.lockTowards(remote.Addr)
	if err != nil {
		return err
	}
	defer q.loop.Unlock()
	if q.kind == UD || remote.Type != q.kind {
		return fmt.Errorf("%w: a queue pair of type %v cannot connect to one of type %v", ErrParams, q.kind, remote.Type)
	}
	if s := q.transport.State(); s != transport.Reset && s != transport.Init {
		return fmt.Errorf("%w: %v; Connect needs RESET or INIT", ErrState, s)
	}
	attr := q.attrFor(&remote, &route)
	return q.climbLocked(&attr)
}

// attrFor is what both ends' parameters come to.
func (q *QP) attrFor(remote *ConnParams, route *Route) QPAttr {
	local, o := q.paramsLocked(route), &q.options.Conn
	return QPAttr{
		Remote: remote.Addr,
		Attr: transport.Attr{
			MTU: min(local.MTU, remote.MTU), RemoteQPN: remote.QPN,
			SendPSN: local.PSN, RecvPSN: remote.PSN,
			Reads: min(plain(o.Reads), remote.ReadsServed), ReadsServed: local.ReadsServed,
			Timeout: o.AckTimeoutCode(), RetryCount: uint8(plain(o.RetryCount)),
			RNRRetry: uint8(plain(o.RNRRetry)), MinRNRTimer: o.rnrTimerCode(),
			Window: remote.Window, Paths: min(local.Paths, remote.Paths),
			TrackedSlots: remote.TrackedSlots, Keepalive: transport.Time(max(o.Keepalive, 0)),
		},
	}
}

// SetConn replaces the wishes for the connection that the queue pair was created with. It needs
// RESET or INIT.
func (q *QP) SetConn(o ConnOptions) error {
	if err := q.lock(); err != nil {
		return err
	}
	defer q.loop.Unlock()
	if s := q.transport.State(); s != transport.Reset && s != transport.Init || q.kind == UD {
		return fmt.Errorf("%w: %v %v; SetConn needs a connection in RESET or INIT", ErrState, q.kind, s)
	}
	ownAck := o.AckTimeout != 0
	o = o.withDefaults(&q.device.info, q.kind)
	if q.kind != MP {
		o.Paths = 1
	}
	if err := o.check(&q.device.info, q.kind); err != nil {
		return err
	}
	q.options.Conn, q.ownAck = o, ownAck
	return nil
}

// SetKeepalive changes ConnOptions.Keepalive of a connected queue pair, with the
// same meaning of zero and None. The peer's silence counts from now on.
// Package cm uses it for connections that it has not established yet.
func (q *QP) SetKeepalive(silence time.Duration) error {
	if err := q.lock(); err != nil {
		return err
	}
	defer q.loop.Unlock()
	if s := q.transport.State(); s != transport.RTS {
		return fmt.Errorf("%w: %v; SetKeepalive needs RTS", ErrState, s)
	}
	orDefault(&silence, q.device.info.Keepalive)
	attr := QPAttr{Attr: q.transport.Attr()}
	attr.Keepalive = transport.Time(max(silence, 0))
	return q.modifyLocked(RTS, &attr)
}

// SetFirstPSN sets the number of the first packet that this end sends, which is
// drawn at random otherwise. In the connection manager of the specification it
// is the receiver who chooses. It needs RESET or INIT; a reset draws anew.
func (q *QP) SetFirstPSN(first PSN) error {
	if first > wire.PSNMask {
		return fmt.Errorf("%w: packet number %#x beyond 24 bits", ErrParams, uint32(first))
	}
	if err := q.lock(); err != nil {
		return err
	}
	defer q.loop.Unlock()
	if s := q.transport.State(); s != transport.Reset && s != transport.Init {
		return fmt.Errorf("%w: %v; SetFirstPSN needs RESET or INIT", ErrState, s)
	}
	q.firstPSN = first
	return nil
}

// Prepare moves a queue pair from RESET to INIT, in which receives can be
// posted before the peer can send.
func (q *QP) Prepare() error { return q.Modify(Init, nil) }

// Activate makes a datagram queue pair ready: from RESET or INIT to RTS. Only
// datagrams that carry the key are received.
func (q *QP) Activate(qkey QKey) error {
	if err := q.lock(); err != nil {
		return err
	}
	defer q.loop.Unlock()
	if q.kind != UD {
		return fmt.Errorf("%w: Activate is for datagrams; use Connect", ErrParams)
	}
	if s := q.transport.State(); s != transport.Reset && s != transport.Init {
		return fmt.Errorf("%w: %v; Activate needs RESET or INIT", ErrState, s)
	}
	attr := QPAttr{Attr: transport.Attr{QKey: qkey, MTU: q.options.Conn.MTU, SendPSN: q.firstPSN}}
	return q.climbLocked(&attr)
}

// climbLocked takes the queue pair up to RTS, or back to RESET if a step fails.
func (q *QP) climbLocked(attr *QPAttr) error {
	for _, to := range [...]State{Init, RTR, RTS} {
		if err := q.modifyLocked(to, attr); err != nil {
			// Every state may move to RESET, so this cannot fail.
			_ = q.modifyLocked(Reset, nil)
			return err
		}
	}
	return nil
}
