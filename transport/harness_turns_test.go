package transport

import "math/rand/v2"

// networkInterface is where the packets of a host leave, one after the other.
type networkInterface struct {
	busy    Time // until when what was given to it takes
	resumes bool // an event will say that it has room
}

// interfaceRoom is how many of the longest packets may wait in an interface.
const interfaceRoom = 4

// slowInterface gives the hosts of a scenario interfaces of 10 to 80 Gb/s.
func (s *scenario) slowInterface(r *rand.Rand) { s.interval = oneOf(r, 0.1, 0.2, 0.8) }

// interfaceOpen says whether the interface of a host takes a packet now. If not,
// the host is served again when it does.
func (h *host) interfaceOpen() bool {
	interval := h.w.sc.interval
	if interval == 0 || h.w.ending {
		return true
	}
	room := Time(interfaceRoom * interval * float64(h.w.sc.attr[h.index].MTU))
	if h.net.busy <= h.w.now+room {
		return true
	}
	if !h.net.resumes {
		h.net.resumes = true
		h.w.events.push(event{at: h.net.busy - room, w: h.w, kind: interfaceFree, host: h})
	}
	return false
}

// occupyInterface gives a packet to the interface.
func (h *host) occupyInterface(p *Packet) {
	if interval := h.w.sc.interval; interval > 0 {
		h.net.busy = max(h.net.busy, h.w.now) + Time(interval*float64(64+p.Length))
	}
}

// fairness watches that a short request gets its turn among the packets of long
// responses.
type fairness struct {
	begun  int // SENDs of which a packet has left
	next   int // RC: the PSN after the last of them, from the first of the stream on
	waited int // packets of responses that have left since, while another SEND was posted
}

// maxWait is how many packets of responses may leave before a request that
// waits for nothing else: four turns of RC.
const maxWait = 4 * turnPackets

// makeBeside turns a scenario into long READs of A, whose responses leave B
// beside B's own short SENDs.
func (s *scenario) makeBeside(r *rand.Rand) {
	s.ops = [2]int{1 + r.IntN(16), 10 + r.IntN(50)}
	s.apart, s.only = true, [2]Op{OpRead, OpSend}
	s.most = [2]int{min(200_000, 600_000/s.ops[0]), 64}
	s.depth = oneOf(r, 16, 64)
	s.plain, s.lateRecvs, s.wrongKey = true, false, 0
	s.pace = oneOf(r, Microsecond, 20*Microsecond)
	s.slowInterface(r)
	for i := range s.attr {
		s.attr[i].Reads, s.attr[i].ReadsServed, s.attr[i].Window = 16, 16, 0
	}
}

// kindsOf lists the operations of a host, maxSizeOf bounds their length.
func (s *scenario) kindsOf(host int) []Op {
	if s.apart {
		return s.only[host : host+1]
	}
	return s.kinds
}

func (s *scenario) maxSizeOf(host int) int {
	if s.apart {
		return s.most[host]
	}
	return s.maxSize
}

// receivesAtOnce is how many receives a program posts at a time: all, where no
// SEND is to wait for one.
func (h *host) receivesAtOnce() int {
	if h.w.sc.draws[drawBeside] {
		return 64
	}
	return 1 + h.work.rng.IntN(6)
}

// checkTurns checks a packet that leaves: long responses let short requests in
// between. Where packets are lost, or thought to be, what is sent again goes first
// and windows are narrow; and a SEND that runs ahead may find no receive in a shared
// queue, of which half is left to others.
func (h *host) checkTurns(p *Packet) {
	if !h.w.sc.draws[drawBeside] || h.w.sc.only[h.index] != OpSend {
		return
	}
	f := &h.turns
	switch op := p.Opcode.Base(); {
	case op.IsSend():
		f.waited = 0
		if h.mp != nil {
			f.begun = max(f.begun, int(p.MP.MSN)+1)
		} else if at := p.PSN.Sub(h.w.sc.attr[h.index].SendPSN); at >= f.next {
			f.begun++ // each is one packet; a keepalive, which is none, has a PSN too
			f.next = at + 1
		}
	case h.work.posted == f.begun || h.qp.State() != RTS || h.w.lossy() || h.qp.Counters().Retransmitted > 0 || h.qp.Counters().RNRNaksReceived > 0:
		f.waited = 0
	case op.IsReadResponse():
		if f.waited++; f.waited > maxWait {
			h.fail("SEND %d waits while %d packets of responses leave", f.begun, f.waited)
		}
	}
}
