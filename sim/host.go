package sim

import (
	"math/bits"
	"net/netip"
	"unsafe"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
	"github.com/braid-rdma/braid/wire"
)

// host is a server: its queue pairs and its NIC. The NIC asks the queue pairs
// for packets when its link is free, one after another, so that a packet is
// decided upon when it is sent and not before.
type host struct {
	node
	net       *Network
	number    int
	addr      netip.Addr
	nics      []*egress
	conns     connTable
	wanting   uint8            // priorities with queue pairs in the ring
	ready     [priorities]ring // queue pairs that may have something to send
	kicked    []*conn
	dice      dice
	addresses verbs.Addresses
	device    *verbs.Device
	programs  *programs // nil: none has goroutines
	streams   hostStreams
	carriers  map[int32]*carrier // to other hosts, beside the network
	carried   int                // packets that are on their way there
	scratch   struct {
		completion transport.Completion
		event      transport.Event
	}

	unknown uint64 // packets for queue pairs that do not exist, or from a stranger
	corrupt uint64 // packets with a wrong ICRC
	refused uint64 // packets that a queue pair dropped
	strange uint64 // bytes that did not parse
}

// conn is an attached queue pair.
type conn struct {
	qp       transport.QP
	number   wire.QPN
	peer     *conn // the other end, where it is known
	sink     verbs.Sink
	host     *host
	remote   int32 // host number; -1: datagrams, or not connected
	next     *conn // in the ring
	queued   bool
	kicked   bool
	dead     bool
	multi    bool // several paths
	priority uint8
	express  *transport.RC // sends packets by Config.Express; nil: it does not
	sport    uint16        // of path 0
	timerAt  Time          // when expire is due; never: not at all
	laterAt  Time          // when an event is pending that an earlier one has overtaken
	carrier  *carrier      // beside the network; nil: there is none
	detour   *detour       // that its program has asked for; nil: none
	// onDone is told when completions were delivered, and what happened.
	onDone func()
}

// ring is a circle of queue pairs, as a chain with a tail.
type ring struct{ head, tail *conn }

func (r *ring) push(c *conn) {
	if r.head == nil {
		r.head = c
	} else {
		r.tail.next = c
	}
	r.tail = c
	c.next = nil
}

func (r *ring) pop() *conn {
	c := r.head
	r.head = c.next
	c.next = nil
	return c
}

// activate lets the NIC ask a queue pair for packets.
func (h *host) activate(c *conn) {
	if c.diverted() && !c.dead {
		h.divert(c)
		if !c.probing() {
			return
		}
	}
	if !c.queued && !c.dead {
		c.queued = true
		h.ready[c.priority].push(c)
		h.wanting |= 1 << c.priority
	}
	for _, nic := range h.nics {
		if h.wanting == 0 {
			return
		}
		nic.start()
	}
}

// pull asks the queue pairs of a priority, in turn, for a packet. It returns nil
// when the one whose turn it is has none.
func (h *host) pull(nic *egress, priority uint8) *packet {
	r := &h.ready[priority]
	c := r.pop()
	if c.probing() && !c.dead {
		r.push(c)
		return h.pullProbe(c)
	}
	if c.dead || c.diverted() {
		h.retire(c, r)
		return nil
	}
	p := h.shard.pool.take()
	if !c.qp.PollTransmit(h.now().wallClock(), &p.Packet) {
		h.shard.pool.put(p)
		h.retire(c, r)
		h.settle(c)
		return nil
	}
	r.push(c)
	h.address(c, p)
	return p
}

// retire takes a queue pair that was popped out of the ring.
func (h *host) retire(c *conn, r *ring) {
	c.queued = false
	if r.head == nil {
		h.wanting &^= 1 << c.priority
	}
}

// Ethernet's and IP's share of a packet: preamble, gap, header and FCS, then
// IPv4 (20 bytes) and UDP (8); the ICRC comes with the headers' length.
const (
	ethernetFraming = 38
	framing         = ethernetFraming + 20 + 8
)

// address gives a packet what the fabric needs to know of it.
func (h *host) address(c *conn, p *packet) {
	p.priority, p.express, p.ect = c.priority, false, transport.ECNCapable(p.Opcode)
	p.dst = c.remote
	p.to = c.peer
	p.src = int32(h.number)
	p.sport = c.sport
	switch {
	case p.DestQP == wire.ManagementQPN: // takes turns, since a path may be dead
		p.sport += uint16(int(p.PSN) % h.net.cfg.Paths)
	case c.multi:
		p.sport += p.Source
	}
	if c.remote < 0 {
		h.addressDatagram(p)
	}
	p.size = int32(framing + p.Headers.Len() + p.Length + int(wire.PadLen(p.Length)) + wire.ICRCLen)
	if h.net.cfg.carriesBytes() {
		h.load(p)
	}
}

// addressDatagram finds where a datagram goes; an address that no host has leads
// nowhere.
func (h *host) addressDatagram(p *packet) {
	addr, ok := h.addresses.Addr(p.AH)
	to := h.net.hostAt(addr)
	if !ok || to < 0 {
		p.dst = int32(h.number) // comes back and is dropped as unknown
		p.DestQP = 0
		to = h.number
	}
	p.dst = int32(to)
	if path, chosen := verbs.PathOfAH(p.AH); chosen && p.DestQP != wire.ManagementQPN {
		p.sport += uint16(path % h.net.cfg.Paths)
	}
}

// arrive takes a packet from the fabric.
func (h *host) arrive(p *packet) {
	if c := h.accept(p); c != nil {
		if p.Opcode == wire.NetworkProbe {
			h.probed(c, uint32(p.PSN))
		} else {
			h.handOver(c, p)
		}
	}
	h.shard.pool.put(p)
}

// handOver gives a packet to the queue pair that it is for.
func (h *host) handOver(c *conn, p *packet) {
	if c.detour != nil && !p.Opcode.IsRequest() {
		c.detour.silence.Replied()
	}
	p.Spans, p.Marked = p.spans[:0], p.marked
	verdict := c.qp.HandlePacket(h.now().wallClock(), &p.Packet)
	switch {
	case verdict == transport.Drop:
		h.refused++
	case verdict == transport.Place && p.payload != nil:
		place(p)
	}
	h.settle(c)
	h.sendExpress(c)
	h.activate(c)
}

// accept finds the queue pair that a packet is for, if the packet is good and
// comes from its peer.
func (h *host) accept(p *packet) *conn {
	if p.corrupt {
		h.corrupt++
		return nil
	}
	if h.net.cfg.Wire && !h.parse(p) {
		return nil
	}
	c := p.to
	if c == nil || c.number != p.DestQP || c.host != h || c.dead {
		c = h.conns.find(p.DestQP)
	}
	if c == nil || c.remote >= 0 && c.remote != p.src {
		h.unknown++
		return nil
	}
	p.AH = 0
	if c.remote < 0 {
		p.AH = h.addresses.Learn(hostAddr(int(p.src)))
	}
	return c
}

// settle delivers what a queue pair has to report and keeps its timer.
func (h *host) settle(c *conn) {
	delivered := false
	for c.qp.PollCompletion(&h.scratch.completion) {
		c.sink.Deliver(&h.scratch.completion)
		delivered = true
	}
	for c.qp.PollEvent(&h.scratch.event) {
		c.sink.Event(&h.scratch.event)
		h.Wake()
	}
	if at := instantOf(c.qp.Timeout()); at < c.timerAt {
		c.setTimer(max(at, h.now()))
	}
	if delivered {
		h.Wake()
		if c.onDone != nil {
			c.onDone()
		}
	}
}

// setTimer lets expire happen at an instant, or before. A timeout that alternates
// between soon and late, as that of a paced queue pair does, leaves one late event
// pending and uses it again.
func (c *conn) setTimer(at Time) {
	if c.laterAt <= at {
		c.timerAt = c.laterAt
		return
	}
	c.laterAt = min(c.laterAt, c.timerAt)
	c.timerAt = at
	c.host.at(at, timing, unsafe.Pointer(c))
}

// expire is a timer of the queue pair. It is not disarmed when the queue pair's
// timeout moves to a later time: then it only looks, and is armed again.
func (c *conn) expire() {
	h := c.host
	if h.now() == c.laterAt {
		c.laterAt = never
	}
	if h.now() != c.timerAt || c.dead {
		return // another one has taken its place
	}
	c.timerAt = never
	if now := h.now().wallClock(); c.qp.Timeout() <= now {
		c.qp.HandleTimeout(now)
		if c.detour != nil {
			h.watchSilence(c)
		}
		h.settle(c)
		h.sendExpress(c)
		h.activate(c)
		return
	}
	h.settle(c)
}

// connTable finds queue pairs by number: open addressing, never more than half full.
type connTable struct {
	slots []*conn
	used  int
}

func (t *connTable) find(n wire.QPN) *conn {
	if t.used == 0 {
		return nil
	}
	mask := len(t.slots) - 1
	for i := int(n) & mask; ; i = (i + 1) & mask {
		c := t.slots[i]
		if c == nil || c.number == n {
			return c
		}
	}
}

func (t *connTable) add(c *conn) {
	if 2*(t.used+1) > len(t.slots) {
		old := t.slots
		t.slots = make([]*conn, 1<<bits.Len(uint(max(4, 2*len(old)))-1))
		for _, o := range old {
			if o != nil {
				t.place(o)
			}
		}
	}
	t.used++
	t.place(c)
}

func (t *connTable) place(c *conn) {
	mask := len(t.slots) - 1
	i := int(c.number) & mask
	for t.slots[i] != nil {
		i = (i + 1) & mask
	}
	t.slots[i] = c
}

func (t *connTable) remove(c *conn) {
	rest := t.slots
	t.slots, t.used = make([]*conn, len(rest)), 0
	for _, o := range rest {
		if o != nil && o != c {
			t.used++
			t.place(o)
		}
	}
}
