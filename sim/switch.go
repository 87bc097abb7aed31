package sim

import (
	"github.com/braid-rdma/braid/sim/topology"
)

// SwitchConfig describes a switch.
type SwitchConfig struct {
	Buffer  int // bytes, shared by all ports; 0: 32 MB
	Marking Marking
	// PFC makes the switch lossless: it stops who sends too much. Without it a
	// packet that finds no room is dropped.
	PFC PFC
	// QueueShift limits a lossy queue to the free buffer divided by 2^QueueShift
	// (dynamic thresholds); 0: a queue may take what there is.
	QueueShift uint
	// Weights makes priorities share a link in proportion; nil: strict.
	Weights []int
	// SharedSeed makes all switches hash alike: ECMP polarises.
	SharedSeed bool
}

// PFC is priority flow control (IEEE 802.1Qbb).
type PFC struct {
	On bool
	// Headroom is the bytes kept for what arrives from one port after it was told
	// to stop; 0: twice the link's delay and four packets.
	Headroom int
	// XOFF is the bytes buffered from one port and priority that make the switch
	// send XOFF. 0: dynamic, the free buffer divided by 2^Shift.
	XOFF  int
	Shift uint
	// Hysteresis is how far below XOFF the bytes must fall before XON.
	Hysteresis int
	// Quanta is how long an XOFF frame stops the peer, in times of 512 bits; 0: 65535,
	// the most there is. The switch says XOFF again at half of it. EndlessPause: until
	// XON, so that the loss of one frame stops the peer for ever.
	Quanta int
	// Lossless are the priorities, as bits, that PFC covers; 0: all.
	Lossless uint8
	// Watchdog is how long a queue may be stopped before that is reported (see
	// Storms) and its packets are dropped until XON; 0: for ever.
	Watchdog Time
}

// fabricSwitch forwards packets.
type fabricSwitch struct {
	node
	cfg      *SwitchConfig
	name     string
	ports    []*egress
	ins      []*ingress
	routes   topology.Table
	unknown  map[int32]Unknown // hosts whose port is not known; nil: none
	seed     uint64
	dice     dice
	buffer   int32 // what queues may take, without headroom
	total    int32
	used     int32
	peakUsed int32
}

// forward sends a packet on.
func (s *fabricSwitch) forward(in *ingress, p *packet) {
	out := p.out
	if out == nil {
		s.shard.pool.put(p)
		return
	}
	q := out.queue(p.priority)
	if !s.admits(q, p) {
		out.dropped++
		s.shard.pool.put(p)
		return
	}
	if !out.marking.Departing {
		out.mark(q, p, &s.dice)
	}
	s.used += p.size
	if s.used > s.peakUsed {
		s.peakUsed = s.used
	}
	in.buffered[p.priority] += p.size
	if s.cfg.PFC.On {
		s.stopIfFull(in, p.priority)
	}
	out.enqueue(p)
}

// route chooses the port by which a packet leaves: among equal ones by its
// five-tuple. It is nil if none leads to its destination.
func (s *fabricSwitch) route(p *packet) *egress {
	choices := s.routes.Ports(int(p.dst))
	switch len(choices) {
	case 0:
		return nil
	case 1:
		return s.ports[choices[0]]
	}
	h := topology.Hash(s.seed, uint32(p.src), uint32(p.dst), p.sport, roceUDPPort)
	return s.ports[choices[topology.Pick(h, len(choices))]]
}

// admits says whether the buffer has room for a packet.
func (s *fabricSwitch) admits(q *queue, p *packet) bool {
	if p.express || s.cfg.PFC.covers(p.priority) {
		return s.used+p.size <= s.total
	}
	if s.used+p.size > s.buffer {
		return false
	}
	return s.cfg.QueueShift == 0 || q.bytes+p.size <= (s.buffer-s.used)>>s.cfg.QueueShift
}

// left takes a packet out of the accounts: its transmission begins.
func (s *fabricSwitch) left(in *ingress, out *egress, p *packet) {
	if out.marking.Departing {
		out.mark(out.queue(p.priority), p, &s.dice)
	}
	s.used -= p.size
	in.buffered[p.priority] -= p.size
	if in.stopped&(1<<p.priority) != 0 {
		s.resumeIfDrained(in, p.priority)
	}
}

func (c *PFC) covers(priority uint8) bool {
	return c.On && (c.Lossless == 0 || c.Lossless&(1<<priority) != 0)
}

// threshold is how many bytes one port and priority may have in the buffer.
func (s *fabricSwitch) threshold() int32 { return s.thresholdAt(s.used) }

// thresholdAt is the threshold when the buffer holds a number of bytes.
func (s *fabricSwitch) thresholdAt(used int32) int32 {
	if s.cfg.PFC.XOFF > 0 {
		return int32(s.cfg.PFC.XOFF)
	}
	return max(0, s.buffer-used) >> s.cfg.PFC.Shift
}

// stopIfFull sends XOFF to whoever fills the buffer.
func (s *fabricSwitch) stopIfFull(in *ingress, priority uint8) {
	bit := uint8(1) << priority
	if in.stopped&bit != 0 || !s.cfg.PFC.covers(priority) || in.buffered[priority] <= s.threshold() {
		return
	}
	in.stopped |= bit
	port := in.twin
	port.offs++
	if port.refresh == nil {
		port.refresh = new([priorities]refresher)
	}
	port.refresh[priority].stop(port, priority, s.cfg.PFC.quanta())
}

func (s *fabricSwitch) resumeIfDrained(in *ingress, priority uint8) {
	if b := in.buffered[priority]; b > 0 && b > s.threshold()-int32(s.cfg.PFC.Hysteresis) {
		return
	}
	in.stopped &^= 1 << priority
	in.twin.refresh[priority].release()
}
