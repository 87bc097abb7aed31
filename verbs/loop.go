package verbs

import (
	"fmt"
	"net/netip"
)

// A device may have several engines: loops that run side by side, each with the packets of its own queue
// pairs. Posting, polling and arriving packets need the lock of one loop only. What belongs to all (memory,
// protection domains, the list of queue pairs) is read with the lock of any loop held, and changed with those
// of all. So a region that is deregistered has been out of every loop's hands, and looking up a key
// costs no lock of its own.
//
// The locks of several loops are taken in their order, and by nobody who has one already.

// loop is an engine of a device.
type loop struct {
	Engine
	device *Device
	index  int
	part   Part // of the numbers, in which its queue pairs are
	memory memoryView
}

// Follower is an engine that can be a further loop of a Multihomed device.
type Follower interface {
	// Follow makes the engine talk to a peer by the route that the device's first engine has found. Locked.
	Follow(r Route) error
}

func newLoops(d *Device, engines []Engine) []*loop {
	loops := make([]*loop, len(engines))
	for i, e := range engines {
		loops[i] = &loop{Engine: e, device: d, index: i, part: e.Info().Part}
		loops[i].memory.table = &d.memory
		d.memory.views = append(d.memory.views, &loops[i].memory)
	}
	return loops
}

// lockAll takes the locks of all loops.
func (d *Device) lockAll() {
	for _, l := range d.loops {
		l.Lock()
	}
}

// unlock gives them back.
func (d *Device) unlock() {
	for _, l := range d.loops {
		l.Unlock()
	}
}

// lock takes the locks of all loops, unless the device is closed.
func (d *Device) lock() error {
	d.lockAll()
	if d.closed {
		d.unlock()
		return errDeviceClosed
	}
	return nil
}

// lock takes the lock of one loop, unless the device is closed.
func (l *loop) lock() error {
	l.Lock()
	if l.device.closed {
		l.Unlock()
		return errDeviceClosed
	}
	return nil
}

var errDeviceClosed = fmt.Errorf("device: %w", ErrClosed)

// first is the loop of queue pair 1, of all datagrams and of what is asked about the device's addresses.
func (d *Device) first() *loop { return d.loops[0] }

// loopFor chooses the loop of a new queue pair; all are locked. Datagrams are the first's, which
// has the table of their addresses. A shared receive queue keeps its queue pairs together. Others are
// spread: those of different completion queues, so that their threads do not meet, and those of one.
func (d *Device) loopFor(o *QPOptions) (*loop, error) {
	if len(d.loops) == 1 {
		return d.first(), nil
	}
	var l, settled *loop
	if o.SRQ != nil {
		settled = o.SRQ.loop.Load()
	}
	switch {
	case o.Type == UD:
		l = d.first()
	case settled != nil:
		l = settled
	default:
		l = o.SendCQ.nextLoop()
	}
	if settled != nil && settled != l {
		return nil, fmt.Errorf("%w: on a device of several loops a shared receive queue is for datagrams or for connections, not for both", ErrAttr)
	}
	if o.SRQ != nil {
		o.SRQ.loop.Store(l)
	}
	return l, nil
}

// routeTo finds the way to a peer; the first loop is locked.
func (d *Device) routeTo(remote netip.Addr) (Route, error) {
	if m, ok := d.first().Engine.(Multihomed); ok {
		return m.RouteTo(remote)
	}
	remote = remote.Unmap()
	if !remote.IsValid() || remote.Is4() != d.info.Local.Is4() {
		return Route{}, fmt.Errorf("%w: the device is at %v, the peer at %v", ErrParams, d.info.Local, remote)
	}
	return Route{Local: d.info.Local, Remote: remote, MTU: d.info.MTUOf(MP)}, nil
}

// lockTowards is lock, and finds the way to a peer. The first loop knows it, because it alone is told of
// strangers; that of the queue pair follows it.
func (q *QP) lockTowards(remote netip.Addr) (route Route, err error) {
	if q.loop != q.device.first() {
		if route, err = q.device.RouteTo(remote); err != nil {
			return route, err
		}
	}
	if err := q.lock(); err != nil {
		return route, err
	}
	if q.loop == q.device.first() {
		route, err = q.device.routeTo(remote)
	} else if f, ok := q.loop.Engine.(Follower); ok {
		err = f.Follow(route)
	}
	if err != nil {
		q.loop.Unlock()
	}
	return route, err
}
