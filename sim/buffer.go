package sim

import (
	"math"
	"math/bits"
)

// buffer is the memory of a switch, as switches with PFC divide it. Each port and lossless
// priority has a reserve of its own. Beyond it packets are charged to the part that all
// share, of which a port and priority may have Alpha times what nobody has taken. Beyond
// that the switch sends XOFF, and what still arrives is charged to the headroom of
// that port and priority, and dropped if it exceeds that. Lossy priorities use the shared
// part alone.
type buffer struct {
	lossless   uint8 // priorities, as bits
	reserve    int32 // of a port and lossless priority
	xoff       int32 // fixed threshold; 0: dynamic
	hysteresis int32
	alpha      int64 // in 2^-16
	pool       int32 // what is shared
	shared     int32 // bytes of it that are taken
	total      int32
	used       int32 // of all
}

// guard is what a switch keeps for a port some priorities of which it has stopped before.
type guard struct {
	refresh [priorities]refresher
	over    [priorities]int32 // bytes in the headroom; all from stopped priorities
	most    int32             // bytes in the headroom of one priority, ever
	dropped uint64            // packets that found it full
}

// divide gives each part of the buffer its size, for packets that carry up to mtu bytes.
func (s *fabricSwitch) divide(mtu int) {
	c := &s.cfg.PFC
	s.total = int32(s.cfg.Buffer)
	s.pool = s.total
	s.lossless = c.covered()
	if s.lossless == 0 {
		return
	}
	s.reserve, s.xoff, s.hysteresis = int32(c.Reserve), int32(c.XOFF), int32(c.Hysteresis)
	s.alpha = int64(c.Alpha * (1 << alphaBits))
	apart := 0
	for _, port := range s.ports {
		headroom := c.Headroom
		if headroom == 0 {
			headroom = Headroom(port.nominal, port.speed.delay, port.reaction, largestPacket(mtu))
		}
		port.headroom = int32(headroom)
		apart += max(1, bits.OnesCount8(c.Lossless)) * (headroom + c.Reserve)
	}
	// A buffer that they alone would fill still has to forward something: then the
	// headroom is shared by ports that do not all need it at once.
	s.pool = int32(max(s.cfg.Buffer-apart, s.cfg.Buffer/4))
}

const alphaBits = 16

// admit charges a packet to the part of the buffer that has room for it, if any has.
func (s *fabricSwitch) admit(in *ingress, q *queue, p *packet) bool {
	if s.lossless&(1<<p.priority) != 0 {
		if !s.admitLossless(in, p) {
			in.twin.guarded().dropped++
			return false
		}
	} else {
		if !s.hasRoom(q, p) {
			return false
		}
		s.shared += p.size
	}
	s.used += p.size
	in.buffered[p.priority] += p.size
	return true
}

// hasRoom says whether a packet of a lossy priority finds room; one of the express class does as long as there is any.
func (s *fabricSwitch) hasRoom(q *queue, p *packet) bool {
	switch {
	case p.express:
		return s.used+p.size <= s.total
	case s.shared+p.size > s.pool:
		return false
	}
	return s.cfg.QueueShift == 0 || q.bytes+p.size <= (s.pool-s.shared)>>s.cfg.QueueShift
}

func (s *fabricSwitch) admitLossless(in *ingress, p *packet) bool {
	if s.used+p.size > s.total {
		return false
	}
	mine := in.buffered[p.priority]
	if in.stopped&(1<<p.priority) != 0 {
		mine -= in.twin.guard.over[p.priority]
	}
	shared := s.shared + s.beyondReserve(mine+p.size) - s.beyondReserve(mine)
	if shared <= s.pool && mine+p.size <= s.thresholdAt(shared) {
		s.shared = shared
		return true
	}
	s.stop(in, p.priority)
	if shared <= s.pool && mine+p.size <= s.thresholdAt(s.shared) {
		s.shared = shared // it takes what there was, and by that exceeds what is left
		return true
	}
	return in.twin.guard.admit(p.priority, p.size, in.twin.headroom)
}

// admit charges a packet to the headroom of a priority, if it has room.
func (g *guard) admit(priority uint8, size, headroom int32) bool {
	if g.over[priority]+size > headroom {
		return false
	}
	g.over[priority] += size
	g.most = max(g.most, g.over[priority])
	return true
}

// left takes a packet out of the accounts: its transmission begins.
func (s *fabricSwitch) left(in *ingress, out *egress, p *packet) {
	if out.marking.Departing {
		out.mark(out.queue(p.priority), p, &s.dice)
	}
	mine := in.buffered[p.priority]
	in.buffered[p.priority] = mine - p.size
	s.used -= p.size
	bit := uint8(1) << p.priority
	switch {
	case s.lossless&bit == 0:
		s.shared -= p.size
	case in.stopped&bit == 0:
		s.shared -= s.beyondReserve(mine) - s.beyondReserve(mine-p.size)
	default:
		// The headroom is there for the next emergency: it is given back first.
		over := &in.twin.guard.over[p.priority]
		mine -= *over
		back := min(*over, p.size)
		*over -= back
		s.shared -= s.beyondReserve(mine) - s.beyondReserve(mine-(p.size-back))
		s.resumeIfDrained(in, p.priority)
	}
}

// beyondReserve is how many bytes of a port and lossless priority the shared part holds.
func (b *buffer) beyondReserve(bytes int32) int32 { return max(0, bytes-b.reserve) }

// thresholdAt is how many bytes one port and priority may have, without headroom, when so
// many of the shared part are taken.
func (b *buffer) thresholdAt(shared int32) int32 {
	if b.xoff > 0 {
		return b.xoff
	}
	free := int64(max(0, b.pool-shared))
	return int32(min(math.MaxInt32, int64(b.reserve)+free*b.alpha>>alphaBits))
}

// mayResume says whether a priority that has so many bytes, and none in the headroom, may
// send again.
func (b *buffer) mayResume(bytes, shared int32) bool {
	return bytes <= b.reserve && b.xoff == 0 || bytes == 0 || bytes <= b.thresholdAt(shared)-b.hysteresis
}

// stop sends XOFF to whoever fills the buffer, once.
func (s *fabricSwitch) stop(in *ingress, priority uint8) {
	bit := uint8(1) << priority
	if in.stopped&bit != 0 {
		return
	}
	in.stopped |= bit
	in.twin.offs++
	in.twin.guarded().refresh[priority].stop(in.twin, priority, s.cfg.PFC.quanta())
}

func (s *fabricSwitch) resumeIfDrained(in *ingress, priority uint8) {
	g := in.twin.guard
	if g.over[priority] > 0 || !s.mayResume(in.buffered[priority], s.shared) {
		return
	}
	in.stopped &^= 1 << priority
	g.refresh[priority].release()
}

// guarded is room for what a switch keeps for a port that it stops.
func (e *egress) guarded() *guard {
	if e.guard == nil {
		e.guard = &guard{}
	}
	return e.guard
}
