package transport

import (
	"math/rand/v2"

	"github.com/braid-rdma/braid/wire"
)

// linkSpec is how one path behaves in one direction.
type linkSpec struct {
	delay, jitter Time
	loose         bool    // jitter changes the order of packets
	nsPerByte     float64 // inverse rate; 0: unlimited
	markAbove     Time    // queueing delay beyond which packets are marked; 0: never
	dropAbove     Time    // queueing delay beyond which packets are dropped; 0: never

	loss      float64 // uniform
	dataLoss  float64 // of data only
	ackLoss   float64 // of acknowledgements only
	everyNth  int     // deterministic loss
	burstRate float64 // Gilbert-Elliott: chance that a burst begins
	burstLen  int     // its mean length in packets; within it everything is lost
	burstTime Time    // bursts end after this time instead, however little is sent
	duplicate float64
	copies    int // of a duplicated packet, at most
	reorder   float64
	lateBy    Time // how much a reordered packet is late, at most
	corrupt   float64
}

// link is a path in one direction, at work.
type link struct {
	linkSpec
	rng     *rand.Rand
	cut     int  // faults that cut it at present
	busy    Time // until when the sender's interface is occupied
	last    Time // latest arrival, since a path keeps order but for faults
	inBurst bool
	burstTo Time // end of a burst that is measured by time
	count   int

	sent, lost int
}

func newLink(s linkSpec, seed, number uint64) *link {
	return &link{linkSpec: s, rng: rand.New(rand.NewPCG(seed, 1000+number))}
}

// parcel is a packet in the network with its payload.
type parcel struct {
	headers wire.Headers
	path    Path
	marked  bool
	payload []byte
	encoded []byte // scratch of the trip through the wire format
}

func (w *world) newParcel() *parcel {
	if n := len(w.free); n > 0 {
		p := w.free[n-1]
		w.free = w.free[:n-1]
		p.marked = false
		p.payload = p.payload[:0]
		return p
	}
	return &parcel{}
}

func (w *world) release(p *parcel) { w.free = append(w.free, p) }

// transmit takes a packet from a queue pair and lets the network decide.
func (w *world) transmit(h *host, p *Packet) {
	h.checkTransmit(p)
	h.occupyInterface(p)
	copies := 1
	if w.filter != nil {
		copies = w.filter(h, p)
	}
	if w.trace != nil {
		w.logf("%s -> %s%s", h.name, describePacket(p), fate(copies))
	}
	path := int(p.Path) % len(w.links[h.index])
	l := w.links[h.index][path]
	for range copies {
		if !l.takes(w, p) {
			continue
		}
		w.carry(h, l, p)
		if l.rng.Float64() < l.duplicate {
			for range 1 + l.rng.IntN(max(1, l.copies)) {
				w.carry(h, l, p)
			}
		}
	}
}

func fate(copies int) string {
	switch copies {
	case 0:
		return "  (dropped)"
	case 1:
		return ""
	}
	return "  (duplicated)"
}

// takes says whether a packet survives the link.
func (l *link) takes(w *world, p *Packet) bool {
	l.sent++
	l.count++
	answer := p.Opcode.Base() == wire.Acknowledge || p.Opcode == wire.MPAcknowledgeBatch
	lost := l.cut > 0 || l.rng.Float64() < l.loss
	if l.burst(w.now) {
		lost = true
	}
	lost = lost || l.everyNth > 0 && l.count%l.everyNth == 0
	lost = lost || !answer && l.dataLoss > 0 && l.rng.Float64() < l.dataLoss
	lost = lost || answer && l.ackLoss > 0 && l.rng.Float64() < l.ackLoss
	lost = lost || l.dropAbove > 0 && l.busy-w.now > l.dropAbove
	if lost {
		l.lost++
		w.logf("    lost")
	}
	return !lost
}

// burst says whether a burst of losses takes the next packet.
func (l *link) burst(now Time) bool {
	switch {
	case l.inBurst && l.burstTime > 0:
		l.inBurst = now < l.burstTo
		return l.inBurst
	case l.inBurst:
		l.inBurst = l.rng.IntN(l.burstLen) != 0
		return true
	case l.burstRate > 0 && l.rng.Float64() < l.burstRate:
		l.inBurst = true
		l.burstTo = now + l.burstTime
		return true
	}
	return false
}

// carry puts one copy of a packet on its way.
func (w *world) carry(h *host, l *link, p *Packet) {
	c := w.newParcel()
	c.headers, c.path = p.Headers, p.Path
	for _, s := range p.Spans {
		c.payload = append(c.payload, s.Bytes()...)
	}
	if w.sc.encode && !h.encodeAndParse(c, l.corrupt > 0 && l.rng.Float64() < l.corrupt) || !w.sc.encode && l.rng.Float64() < l.corrupt {
		w.logf("    corrupted")
		l.lost++
		w.release(c)
		return
	}
	if l.markAbove > 0 && l.busy-w.now > l.markAbove {
		c.marked = true
	}
	w.events.push(event{at: w.quantise(l.arrival(w.now, 64+len(c.payload))), w: w, kind: arrives, host: h.peer(), parcel: c})
}

// arrival is when a packet of n bytes sent now is there.
func (l *link) arrival(now Time, n int) Time {
	l.busy = max(l.busy, now) + Time(float64(n)*l.nsPerByte)
	at := l.busy + l.delay
	if l.jitter > 0 {
		at += Time(l.rng.Int64N(int64(l.jitter)))
	}
	if l.loose {
		return at
	}
	at = max(at, l.last)
	if l.reorder > 0 && l.rng.Float64() < l.reorder {
		// A late packet does not hold back those behind it.
		return at + Time(l.rng.Int64N(int64(l.lateBy)))
	}
	l.last = at
	return at
}

// quantise rounds up to the granularity with which engines look at their
// sockets, so that packets come in batches.
func (w *world) quantise(t Time) Time {
	if q := w.sc.quantum; q > 1 {
		return (t + q - 1) / q * q
	}
	return t
}

// fault is a scripted disturbance of links or of a host.
type fault struct {
	from, until Time   // since the start
	stall       bool   // of the host, else a cut of links
	heals       bool   // at its end every link is as good as new
	dead        bool   // the cut is for good
	drains      bool   // the host's queue pair is in SQD meanwhile
	ends        keyEnd // the host ends the use of some of its memory
	swaps       bool   // the host's path policy and congestion control are exchanged at both ends
	host        int    // stall: who; cut: the sending side, or both if negative
	paths       []int
}

func (w *world) applyFault(f *fault, begins bool) {
	w.logf("fault %+v begins: %v", *f, begins)
	if f.heals {
		if !begins {
			w.healLinks()
		}
		return
	}
	if f.ends.how != nothingEnds {
		if begins && (f.ends.after == 0 || f.ends.after <= w.hosts[f.host].responses) {
			w.hosts[f.host].endKey(f.ends)
		}
		return
	}
	if f.drains || f.swaps {
		w.hosts[f.host].disturb(f, begins)
		return
	}
	if f.stall {
		if begins {
			w.hosts[f.host].stalledUntil = w.now + f.until - f.from
		}
		return
	}
	step := -1
	if begins {
		step = 1
	}
	for side := range w.links {
		if f.host >= 0 && f.host != side {
			continue
		}
		for _, p := range f.paths {
			w.links[side][p].cut += step
		}
	}
}

// healLinks leaves the links nothing but delay and rate.
func (w *world) healLinks() {
	for side := range w.links {
		for _, l := range w.links[side] {
			l.linkSpec = linkSpec{delay: l.delay, jitter: l.jitter, nsPerByte: l.nsPerByte, markAbove: l.markAbove}
			l.inBurst = false
		}
	}
}
