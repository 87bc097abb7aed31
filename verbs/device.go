package verbs

import (
	"errors"
	"net/netip"
	"slices"

	"github.com/braid-rdma/braid/transport"
)

// Device is the root of all objects: an engine, or several that run side by side, and what has been
// created on it. Its methods, and those of its objects, may be called from any thread.
//
// Closing an object closes what depends on it: a completion queue or shared
// receive queue its queue pairs, a protection domain all that was made in it,
// the device everything. No close is refused and each may be called twice.
type Device struct {
	engine Engine // the first loop's
	loops  []*loop
	info   EngineInfo
	events eventQueue

	// The rest is read under the lock of a loop, and changed under those of all.
	closed bool
	pds    map[transport.PD]*PD
	cqs    map[*CQ]struct{}
	srqs   map[*SRQ]struct{}
	qps    map[QPN]*QP
	memory memoryTable
	spread int // completion queues that were given a loop
	// requests is scratch for posting to a NIC.
	requests nicRequests
}

// Open makes a device of an engine and owns the engine from then on. Programs
// call the Open of an engine's package, which calls this one. Further engines are loops of the same device: each
// moves the packets of its own queue pairs. They are reached at the addresses of the first, and have other
// parts of the numbers (EngineInfo.Part); a NIC has none.
func Open(e Engine, further ...Engine) *Device {
	d := &Device{
		engine: e,
		info:   e.Info(),
		events: newEventQueue(),
		pds:    make(map[transport.PD]*PD),
		cqs:    make(map[*CQ]struct{}),
		srqs:   make(map[*SRQ]struct{}),
		qps:    make(map[QPN]*QP),
		memory: newMemoryTable(),
	}
	d.loops = newLoops(d, append([]Engine{e}, further...))
	return d
}

// Engine is the engine that the device runs on, for settings and statistics
// that only one kind of engine has; of several the first.
func (d *Device) Engine() Engine { return d.engine }

// Engines are all that the device runs on.
func (d *Device) Engines() []Engine {
	engines := make([]Engine, len(d.loops))
	for i, l := range d.loops {
		engines[i] = l.Engine
	}
	return engines
}

// Counters are the sums of the engines' counters, by name; nil if they have none (Counted).
func (d *Device) Counters() map[string]uint64 {
	var sums map[string]uint64
	for _, e := range d.Engines() {
		c, ok := e.(Counted)
		if !ok {
			continue
		}
		if sums == nil {
			sums = make(map[string]uint64)
		}
		for name, n := range c.Counters() {
			sums[name] += n
		}
	}
	return sums
}

// DeviceAttr describes a device.
type DeviceAttr struct {
	EngineInfo
	Addrs  []netip.Addr // the addresses at which the device can be reached
	Limits Limits
	// What exists now.
	PDs, CQs, SRQs, QPs, MRs int
	RegisteredBytes          uint64
	EventsDropped            uint64
}

// Query describes the device and counts its objects.
func (d *Device) Query() DeviceAttr {
	d.lockAll()
	defer d.unlock()
	return DeviceAttr{
		EngineInfo: d.info, Addrs: d.localAddrs(), Limits: limits(),
		PDs: len(d.pds), CQs: len(d.cqs), SRQs: len(d.srqs), QPs: len(d.qps),
		MRs: len(d.memory.regions), RegisteredBytes: d.memory.bytes,
		EventsDropped: d.events.dropped.Load(),
	}
}

// QPs are the queue pairs that exist now, by number.
func (d *Device) QPs() []*QP {
	d.lockAll()
	defer d.unlock()
	return d.sortedQPs()
}

// Listen makes the device reachable at every address of the host that is free,
// if it was opened without an address; otherwise it has its one address already.
// Query tells which addresses it has. The connection manager calls it.
func (d *Device) Listen() error {
	if err := d.first().lock(); err != nil {
		return err
	}
	defer d.first().Unlock()
	if m, ok := d.engine.(Multihomed); ok {
		return m.Listen()
	}
	return nil
}

// Serve makes requests for a service come to this device, if other devices have its addresses too.
// The connection manager calls it.
func (d *Device) Serve(service uint64) error {
	if s, ok := d.engine.(Shared); ok {
		return s.Serve(service)
	}
	return nil
}

// Unserve ends what Serve began.
func (d *Device) Unserve(service uint64) {
	if s, ok := d.engine.(Shared); ok {
		s.Unserve(service)
	}
}

// RouteTo finds the address from which the device reaches a peer.
func (d *Device) RouteTo(remote netip.Addr) (Route, error) {
	if err := d.first().lock(); err != nil {
		return Route{}, err
	}
	defer d.first().Unlock()
	return d.routeTo(remote)
}

func (d *Device) localAddrs() []netip.Addr {
	if m, ok := d.engine.(Multihomed); ok {
		return m.LocalAddrs()
	}
	return []netip.Addr{d.info.Local}
}

// Events is the channel of asynchronous events. It holds a few hundred; when
// nobody reads it the oldest stay, and the rest is counted in EventsDropped.
// It is closed with the device.
func (d *Device) Events() <-chan Event { return d.events.events }

// Progress runs each engine once in the caller's thread without blocking, and
// returns whether anything happened. A program needs it only where it polls
// memory rather than a completion queue.
func (d *Device) Progress() (any bool) {
	for _, l := range d.loops {
		any = l.Progress() || any
	}
	return any
}

// Close closes every object of the device, then its engines.
func (d *Device) Close() error {
	d.lockAll()
	if d.closed {
		d.unlock()
		return nil
	}
	d.closed = true
	for _, q := range d.sortedQPs() {
		q.closeLocked()
	}
	for _, pd := range d.pds {
		pd.closeLocked()
	}
	for c := range d.cqs {
		c.closeLocked()
	}
	d.events.close()
	d.unlock()
	var err error
	for _, l := range slices.Backward(d.loops) { // the first has what the others share
		err = errors.Join(err, l.Close())
	}
	return err
}

// sortedQPs are the queue pairs by number, so that what is done to all of them
// is done in the same order in every run of a simulation.
func (d *Device) sortedQPs() []*QP {
	qps := make([]*QP, 0, len(d.qps))
	for _, q := range d.qps {
		qps = append(qps, q)
	}
	slices.SortFunc(qps, func(a, b *QP) int { return int(a.number) - int(b.number) })
	return qps
}

// freeQPN draws a number that no queue pair of the device has. Numbers are
// random, so that packets which are still on their way to a queue pair that is
// gone, perhaps of a process that is gone, hardly ever find another in its place.
func (l *loop) freeQPN() QPN {
	d := l.device
	for {
		n := QPN(l.part.Of(uint32(minQPN+d.engine.Random()%(maxQPN-minQPN+1)), 24))
		if n >= minQPN && n <= maxQPN && d.qps[n] == nil {
			return n
		}
	}
}
