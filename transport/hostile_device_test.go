package transport

import (
	"fmt"
	"math/rand/v2"

	"github.com/braid-rdma/braid/wire"
)

// A device serves honest peers and a hostile one at the same time:
//
//	honest clients ──┐                        ┌ memory table
//	                 ├── network ── processor ┼ shared receive queue
//	the liar ────────┘     FIFO   (a budget)  └ a queue pair for each peer
//
// All queue pairs of the device share its memory table, its receive queue and
// its processor, which handles so many packets a second, in both directions
// together. The program of a client works in rounds (client.next); the device
// checks what arrives and replies. The liar (hostile_peer_test.go) is no queue
// pair at all.

const (
	hostileMTU      = 1024
	hostilePaths    = 4
	hostileDelay    = 10 * Microsecond
	packetCost      = 100 * Nanosecond // of the processor
	packetsPerBatch = 32               // taken from the network before anything is sent
	packetsPerPort  = 4                // sent by a queue pair before the next one's turn
	ingressLimit    = 1 << 14          // packets that wait for the processor; beyond they are lost

	sharedSlots    = 256  // receives in the shared queue
	sharedSlotSize = 2048 // of each
)

// appointment is something that happens at an instant.
type appointment struct {
	at    Time
	order uint64
	call  func()
}

// calendar is a heap of appointments; ties break by the order of entry. It is a heap of its own because
// container/heap allocates twice for each appointment, and a run has a hundred thousand.
type calendar []appointment

func (a *appointment) before(b *appointment) bool {
	return a.at < b.at || a.at == b.at && a.order < b.order
}

func (c *calendar) push(a appointment) {
	*c = append(*c, a)
	h := *c
	for i := len(h) - 1; i > 0; {
		parent := (i - 1) / 2
		if !h[i].before(&h[parent]) {
			break
		}
		h[i], h[parent] = h[parent], h[i]
		i = parent
	}
}

func (c *calendar) pop() appointment {
	h := *c
	first, last := h[0], len(h)-1
	h[0], h[last] = h[last], appointment{}
	h = h[:last]
	*c = h
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h); child++ {
			if h[child].before(&h[least]) {
				least = child
			}
		}
		if least == i {
			return first
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}

// hostileWorld is one run.
type hostileWorld struct {
	rng      *rand.Rand
	now      Time
	length   Time // how long it goes on
	order    uint64
	calendar calendar
	onTheWay fifo[carriage]
	device   *device
	clients  []*client
	liar     *liar // nil: the run that others are measured by
}

func (w *hostileWorld) fail(format string, args ...any) {
	panic(promiseBroken{fmt.Sprintf("at %v: ", w.now) + fmt.Sprintf(format, args...)})
}

func (w *hostileWorld) at(t Time, call func()) {
	w.order++
	w.calendar.push(appointment{t, w.order, call})
}

// carry brings a letter to somebody. All take the same time, so that they need no calendar.
func (w *hostileWorld) carry(l *letter, to func(*letter)) {
	w.order++
	*w.onTheWay.push() = carriage{w.now + hostileDelay, w.order, l, to}
}

// runUntil lets things happen for a while.
func (w *hostileWorld) runUntil(end Time) {
	for {
		arrives := w.onTheWay.len() > 0
		if len(w.calendar) > 0 && (!arrives || w.calendar[0].beforeDelivery(w.onTheWay.at(0))) {
			if w.calendar[0].at > end {
				break
			}
			a := w.calendar.pop()
			w.now = a.at
			a.call()
			continue
		}
		if !arrives || w.onTheWay.at(0).at > end {
			break
		}
		a := *w.onTheWay.pop()
		w.now = a.at
		a.to(a.letter)
	}
	w.now = end
}

// carriage is when a letter is where it goes.
type carriage struct {
	at     Time
	order  uint64
	letter *letter
	to     func(*letter)
}

func (a *appointment) beforeDelivery(b *carriage) bool {
	return a.at < b.at || a.at == b.at && a.order < b.order
}

// letter is a packet on its way.
type letter struct {
	headers wire.Headers
	path    Path
	payload []byte
	to      *port
	stale   bool // the liar knows that it acknowledges nothing new
}

// port is a queue pair with what its engine knows of it.
type port struct {
	w       *hostileWorld
	name    string
	qp      QP
	device  *device // nil: a client's
	send    func(l *letter)
	done    func(c *Completion)
	timerAt Time   // of the appointment that there is; zero: none
	expire  func() // what happens then
	// What calls of the queue pair need is here, so that none of them allocates.
	packet     Packet
	completion Completion
	event      Event
}

// transmit takes up to n packets of a queue pair.
func (p *port) transmit(n int) (sent int) {
	for ; sent < n && p.qp.PollTransmit(p.w.now, &p.packet); sent++ {
		if int(p.packet.Path) >= hostilePaths {
			p.w.fail("%s: a packet for path %d of %d", p.name, p.packet.Path, hostilePaths)
		}
		l := &letter{headers: p.packet.Headers, path: p.packet.Path}
		for _, s := range p.packet.Spans {
			l.payload = append(l.payload, s.Bytes()...)
		}
		p.send(l)
	}
	return sent
}

// finish reports completions and arms the timer.
func (p *port) finish() {
	for p.qp.PollCompletion(&p.completion) {
		p.done(&p.completion)
	}
	for p.qp.PollEvent(&p.event) {
	}
	if m, ok := unwrapped(p.qp).(*MP); ok {
		if err := conserves(m); err != nil {
			p.w.fail("%s: %v", p.name, err)
		}
	}
	p.arm()
}

// arm makes an appointment for the timeout, unless there is an earlier one: most timeouts move on before they come.
func (p *port) arm() {
	at := p.qp.Timeout()
	if at == Never {
		return
	}
	if at = max(at, p.w.now); p.timerAt != 0 && p.timerAt <= at {
		return
	}
	if p.expire == nil {
		p.expire = p.expired
	}
	p.timerAt = at
	p.w.at(at, p.expire)
}

// expired is called at an appointment, which may have been made for a timeout that has moved since.
func (p *port) expired() {
	if p.timerAt != p.w.now {
		return
	}
	p.timerAt = 0
	if p.qp.Timeout() > p.w.now {
		p.arm()
		return
	}
	p.qp.HandleTimeout(p.w.now)
	p.serve()
}

// serve lets a client's engine do its duties; the device's processor has its own
// order of work.
func (p *port) serve() {
	if p.device != nil {
		p.device.wake()
		p.finish()
		return
	}
	p.transmit(1 << 20)
	p.finish()
	if n := p.transmit(1 << 20); n > 0 {
		p.finish()
	}
}

// handle gives a packet to the queue pair and moves its payload.
func (p *port) handle(l *letter) {
	p.packet.Headers, p.packet.Path, p.packet.Marked, p.packet.Length = l.headers, l.path, false, len(l.payload)
	p.packet.Spans = p.packet.Spans[:0]
	if p.qp.HandlePacket(p.w.now, &p.packet) != Place {
		return
	}
	if n := totalLength(p.packet.Spans); n != uint64(len(l.payload)) {
		p.w.fail("%s: %d bytes of payload for spans of %d", p.name, len(l.payload), n)
	}
	payload := l.payload
	for _, s := range p.packet.Spans {
		if p.device != nil {
			p.device.checkPlacement(p, s)
		}
		payload = payload[copy(s.Bytes(), payload):]
	}
}

// deviceMemory is the memory table as one queue pair of the device uses it.
type deviceMemory struct {
	*testMemory
	lookups int                // since the last packet
	wrong   map[wire.RKey]bool // keys that do not exist and were tried
	opens   *Region            // a planted bug: what a wrong key opens; nil: nothing
}

func (m *deviceMemory) Resolve(pd PD, rkey wire.RKey, va uint64, length uint32, want Access) (Span, bool) {
	m.lookups++
	s, ok := m.testMemory.Resolve(pd, rkey, va, length, want)
	if !ok {
		if m.regions[rkey] == nil {
			m.wrong[rkey] = true
		}
		if m.opens != nil {
			return m.opens.span(0, int(min(uint64(length), m.opens.Length))), true
		}
	}
	return s, ok
}

// sharedSlot is a receive of the shared queue.
type sharedSlot struct {
	region *Region
	owner  *port // whose bytes are in it
}

// device is the honest side that everybody talks to.
type device struct {
	w        *hostileWorld
	memory   *testMemory
	srq      *ReceiveQueue
	slots    []*sharedSlot
	byRegion map[*Region]*sharedSlot
	ports    []*port
	clients  map[wire.QPN]*client
	hostile  *port // serves the liar
	guarded  *deviceMemory
	open     *Region       // what the liar may write to and read
	sink     *Region       // what READs from the liar fill
	worker   func()        // work, and
	receiver func(*letter) // receive, which are not made anew for each packet

	ingress   []*letter
	lost      int
	busyUntil Time
	awake     bool
	turn      int
}

func newDevice(w *hostileWorld) *device {
	d := &device{w: w, memory: newTestMemory(), byRegion: map[*Region]*sharedSlot{}, clients: map[wire.QPN]*client{}}
	d.worker, d.receiver = d.work, d.receive
	d.memory.nextKey = wire.RKey(w.rng.Uint32() | 1<<31) // not to be guessed
	d.srq, _ = NewReceiveQueue(sharedSlots, 1, 1)
	for range sharedSlots {
		s := &sharedSlot{region: d.memory.register(1, sharedSlotSize, LocalWrite)}
		d.slots = append(d.slots, s)
		d.byRegion[s.region] = s
		d.offer(len(d.slots) - 1)
	}
	return d
}

// offer posts a receive.
func (d *device) offer(i int) {
	s := d.slots[i]
	s.owner = nil
	clear(s.region.Bytes)
	if err := d.srq.Post(&RecvWR{ID: uint64(i), SGEs: []SGE{s.region.span(0, sharedSlotSize)}}); err != nil {
		d.w.fail("a receive is refused: %v", err)
	}
}

// receive takes a packet from the network, if there is room for it.
func (d *device) receive(l *letter) {
	if len(d.ingress) >= ingressLimit {
		d.lost++
		return
	}
	d.ingress = append(d.ingress, l)
	d.wake()
}

// wake sees to it that the processor works as soon as it is free.
func (d *device) wake() {
	if d.awake {
		return
	}
	d.awake = true
	d.w.at(max(d.w.now, d.busyUntil), d.worker)
}

// work takes a batch of packets and lets the queue pairs send in turns. What it
// did takes its time.
func (d *device) work() {
	d.awake = false
	batch := min(len(d.ingress), packetsPerBatch)
	for _, l := range d.ingress[:batch] {
		d.handle(l)
	}
	d.ingress = d.ingress[batch:]
	sent := 0
	for i := range d.ports {
		sent += d.ports[(d.turn+i)%len(d.ports)].transmit(packetsPerPort)
	}
	d.turn++
	for _, p := range d.ports {
		p.finish()
	}
	d.busyUntil = d.w.now + Time(batch+sent)*packetCost
	if batch+sent > 0 {
		d.wake()
	}
}

// handle gives a packet to its queue pair and checks what it may do.
func (d *device) handle(l *letter) {
	if l.to != d.hostile {
		l.to.handle(l)
		return
	}
	before := ackStateOf(l.to.qp)
	d.guarded.lookups = -acceptedAhead(l.to.qp) // each of them may have its turn now
	l.to.handle(l)
	if after := ackStateOf(l.to.qp); l.stale && l.to.qp.State() == RTS && after != before {
		d.w.fail("an old acknowledgement changed %+v to %+v", before, after)
	}
	d.checkHostile()
}

// Bounds of what a hostile peer may have of a device.
const (
	mostWrongKeys   = maxWrongKeys + 1  // the last ends its connection
	maxHeldState    = 7000              // entries of all queues of its queue pair
	maxHeldReceives = sharedSlots/2 + 1 // of the shared queue: half, and the one that its next message needs
	maxLookups      = 4                 // in the memory table, for one packet beside those that waited for it
)

// checkHostile checks that the liar has no more of the device than its share.
func (d *device) checkHostile() {
	qp := d.hostile.qp
	if n := len(d.guarded.wrong); n > mostWrongKeys {
		d.w.fail("%d wrong keys were tried, and the connection is in %v", n, qp.State())
	}
	if n := d.guarded.lookups; n > maxLookups {
		d.w.fail("one packet made %d lookups of memory", n)
	}
	if n := heldReceives(qp); n > maxHeldReceives {
		d.w.fail("the connection holds %d of %d shared receives", n, sharedSlots)
	}
	if n := heldState(qp); n > maxHeldState {
		d.w.fail("the connection keeps %d entries", n)
	}
}

// checkPlacement checks that bytes of a peer go to its own memory, or to a
// receive that no other peer has.
func (d *device) checkPlacement(p *port, at Span) {
	if at.Offset+uint64(at.Length) > at.Region.Length {
		d.w.fail("%s: bytes beyond the end of a region", p.name)
	}
	if s := d.byRegion[at.Region]; s != nil {
		if s.owner == nil {
			s.owner = p
		}
		if s.owner != p {
			d.w.fail("%s: bytes go to a receive of %s", p.name, s.owner.name)
		}
		return
	}
	if p == d.hostile {
		if at.Region != d.open && at.Region != d.sink {
			d.w.fail("the liar writes to memory of others")
		}
		return
	}
	if at.Region != d.clients[p.qp.Number()].window {
		d.w.fail("%s: bytes go to memory of others", p.name)
	}
}

// completed takes the completions of a queue pair of the device.
func (d *device) completed(p *port, c *Completion) {
	peer := d.clients[p.qp.Number()]
	if c.Op < OpRecv {
		if peer != nil && c.Status != Success {
			d.w.fail("%s: a reply failed: %v", p.name, c.Status)
		}
		return
	}
	i := int(c.WRID)
	if peer != nil {
		if c.Status != Success {
			d.w.fail("%s: a receive failed: %v", p.name, c.Status)
		}
		peer.checkMessage(d.slots[i].region.Bytes, int(c.Bytes))
	}
	d.offer(i)
}

// allReturned checks, when all connections are closed, that the receives are back.
func (d *device) allReturned() {
	for _, p := range d.ports {
		if err := p.qp.Modify(d.w.now, Err, nil); err != nil {
			d.w.fail("%s: %v", p.name, err)
		}
		d.clients = nil
		p.finish()
	}
	if n := d.srq.Len(); n != sharedSlots {
		d.w.fail("%d of %d shared receives are back", n, sharedSlots)
	}
}
