package verbs

import (
	"fmt"
	"math/rand/v2"
	"net/netip"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/wire"
)

// QP is a queue pair: an RC or MP connection, or an endpoint of datagrams.
// Work is posted to it and completes on its completion queues.
type QP struct {
	pd     *PD
	device *Device
	loop   *loop
	number QPN
	sendCQ *CQ
	recvCQ *CQ
	srq    *SRQ

	// The rest is under the lock of the loop; closing takes those of all.
	kind      QPType
	ownAck    bool // the ACK timeout was asked for: it is no default of the type
	closed    bool
	firstPSN  PSN // of what we send; drawn anew at each reset
	transport transport.QP
	options   QPOptions
	remote    netip.Addr
	sendSlots slots
	recvSlots slots
	held      *[]heldReceive // nil: none, as almost always
	failed    Status         // of the first request that failed, other than by being flushed
	onFailure func(cause error)
}

// CreateQP makes a queue pair, in state RESET.
func (p *PD) CreateQP(options QPOptions) (*QP, error) {
	return p.createQP(options, (*loop).freeQPN)
}

// CreateManagementQP makes queue pair 1, at which peers expect the device's
// connection manager: a queue pair for datagrams, in state RESET. A device has
// one, so that the second attempt fails with ErrLimit.
func (p *PD) CreateManagementQP(options QPOptions) (*QP, error) {
	options.Type = UD
	return p.createQP(options, func(*loop) QPN { return wire.ManagementQPN })
}

// createQP makes a queue pair under the number that choose returns, which is
// asked with the lock held.
func (p *PD) createQP(options QPOptions, choose func(*loop) QPN) (*QP, error) {
	d := p.device
	o := options.withDefaults(&d.info)
	if err := p.lock(); err != nil {
		return nil, err
	}
	defer d.unlock()
	if err := o.check(p, &d.info); err != nil {
		return nil, err
	}
	if len(d.qps) >= MaxQPs {
		return nil, fmt.Errorf("%w: %d queue pairs", ErrLimit, MaxQPs)
	}
	l, err := d.loopFor(&o)
	if err != nil {
		return nil, err
	}
	number := choose(l)
	if d.qps[number] != nil {
		return nil, fmt.Errorf("%w: queue pair %v exists", ErrLimit, number)
	}
	t, err := d.transportFor(&o, o.config(p, l, number))
	if err != nil {
		return nil, err
	}
	number = t.Number() // a NIC chooses its own
	q := &QP{
		pd: p, device: d, loop: l, number: number, kind: o.Type,
		sendCQ: o.SendCQ, recvCQ: o.RecvCQ, srq: o.SRQ,
		options: o, ownAck: options.Conn.AckTimeout != 0, firstPSN: d.randomPSN(),
	}
	q.sendSlots.depth, q.recvSlots.depth = uint32(o.SendDepth), uint32(o.RecvDepth)
	if err := q.attach(t); err != nil {
		return nil, err
	}
	o.SendCQ.serve(l)
	o.RecvCQ.serve(l)
	d.qps[number] = q
	return q, nil
}

// attach enters the state machine in the engine's table.
func (q *QP) attach(t transport.QP) error {
	d := q.device
	if err := q.loop.Attach(t, (*qpSink)(q)); err != nil {
		return err
	}
	if d.info.Window > 0 {
		t.SetWindow(min(d.info.Window, transport.MaxTrackingSlots))
	}
	q.transport = t
	return nil
}

// newTransport makes the state machine of a type, or what a NIC has in its place.
func (d *Device) newTransport(t QPType, cfg transport.Config) (transport.QP, error) {
	if nic, ok := d.engine.(NIC); ok {
		return nic.NewQP(t, cfg)
	}
	switch t {
	case RC:
		return asQP(transport.NewRC(cfg))
	case MP:
		return asQP(transport.NewMP(cfg))
	default:
		return asQP(transport.NewUD(cfg))
	}
}

// asQP keeps a nil pointer from becoming an interface that is not nil.
func asQP[T transport.QP](q T, err error) (transport.QP, error) {
	if err != nil {
		return nil, err
	}
	return q, nil
}

func (d *Device) newRand() *rand.Rand {
	return rand.New(rand.NewPCG(d.engine.Random(), d.engine.Random()))
}

func (d *Device) randomPSN() PSN { return PSN(d.engine.Random() & wire.PSNMask) }

// Number is the queue pair's number.
func (q *QP) Number() QPN { return q.number }

// Type is the queue pair's type.
func (q *QP) Type() QPType {
	q.loop.Lock()
	defer q.loop.Unlock()
	return q.kind
}

// PD is the queue pair's protection domain.
func (q *QP) PD() *PD { return q.pd }

// State is the queue pair's state.
func (q *QP) State() State {
	q.loop.Lock()
	defer q.loop.Unlock()
	return q.transport.State()
}

// QPAttr is what Modify sets.
type QPAttr struct {
	transport.Attr
	Remote netip.Addr // where the peer is; needed for RTR, except by datagrams
}

// Modify moves the queue pair to a state. attr carries what the transition
// needs and may be nil where it needs nothing; see transport.Attr. Connect and
// Activate do what most programs need.
func (q *QP) Modify(to State, attr *QPAttr) error {
	if to == RTR && q.loop != q.device.first() && attr != nil && attr.Remote.IsValid() {
		if _, err := q.lockTowards(attr.Remote); err != nil {
			return err
		}
	} else if err := q.lock(); err != nil {
		return err
	}
	defer q.loop.Unlock()
	return q.modifyLocked(to, attr)
}

func (q *QP) modifyLocked(to State, attr *QPAttr) error {
	e := q.loop
	if to == RTR && q.kind != UD {
		if err := q.routeLocked(attr); err != nil {
			return err
		}
	}
	if to == Err || to == Reset {
		q.flushLocked()
	}
	var ta *transport.Attr
	if attr != nil {
		ta = &attr.Attr
	}
	if err := q.transport.Modify(e.Now(), to, ta); err != nil {
		return err
	}
	if to == RTR && attr != nil {
		q.remote = attr.Remote
	}
	if to == Reset {
		q.firstPSN = q.device.randomPSN()
		q.failed = transport.Success
		q.sendSlots.forget()
		q.recvSlots.forget()
	}
	e.Kick(q.transport)
	return nil
}

// routeLocked tells the engine where the peer of a queue pair is that is to become
// ready to receive. INIT is the only state from which it can; in any other the
// queue pair has a route already, which a failure must not change.
func (q *QP) routeLocked(attr *QPAttr) error {
	if attr == nil || !attr.Remote.IsValid() {
		return fmt.Errorf("%w: RTR needs the peer's address", ErrParams)
	}
	if s := q.transport.State(); s != Init {
		return fmt.Errorf("%w: %v to %v", ErrState, s, RTR)
	}
	return q.loop.Route(q.transport, attr.Remote)
}

// QPInfo describes a queue pair.
type QPInfo struct {
	Number  QPN
	Type    QPType
	State   State
	Attr    QPAttr
	Options QPOptions
	Flow    transport.Flow // MP: window, packets in flight, round trip
}

// Query describes the queue pair as it is now.
func (q *QP) Query() QPInfo {
	q.loop.Lock()
	defer q.loop.Unlock()
	info := QPInfo{
		Number: q.number, Type: q.kind, State: q.transport.State(),
		Attr: QPAttr{Attr: q.transport.Attr(), Remote: q.remote}, Options: q.options,
	}
	if m, ok := q.transport.(transport.MultiPath); ok {
		info.Flow = m.Flow()
	}
	return info
}

// lock takes the lock of the loop, unless the queue pair or its device is closed.
func (q *QP) lock() error {
	if err := q.loop.lock(); err != nil {
		return err
	}
	if q.closed {
		q.loop.Unlock()
		return fmt.Errorf("queue pair %v: %w", q.number, ErrClosed)
	}
	return nil
}
