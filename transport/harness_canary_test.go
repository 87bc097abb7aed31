package transport

import (
	"testing"

	"github.com/braid-rdma/braid/wire"
)

// canary is a queue pair with a planted bug: it mutates what crosses the
// interface, as the bug would. The harness must notice.
type canary struct {
	QP
	h    *host
	bug  *plantedBug
	done int // how often the bug had its chance
	seen map[wire.PSN]bool
	held Completion
	some bool // held is to be reported again
	kept []*SendWR
}

// plantedBug says what goes wrong. Unset functions change nothing.
type plantedBug struct {
	name     string
	rc, mp   bool   // which queue pairs can have it
	needs    []draw // it shows only in scenarios with one of these; empty: in any
	shared   bool   // it shows only with shared receives
	received func(c *canary, p *Packet) (deliver bool)
	verdict  func(c *canary, p *Packet, v Verdict)
	sent     func(c *canary, p *Packet)
	complete func(c *canary, got *Completion) (report bool)
	timeout  func(c *canary, at Time) Time
	plant    func(h *host)
	attr     func(a *Attr)
	patient  bool // requests wait until there is nothing else to send
}

// mayShow says whether a scenario is one in which the bug can show.
func (b *plantedBug) mayShow(sc *scenario) bool {
	if sc.rc && !b.rc || !sc.rc && !b.mp || b.shared && !sc.shared {
		return false
	}
	for _, d := range b.needs {
		if sc.draws[d] {
			return true
		}
	}
	return len(b.needs) == 0
}

func (c *canary) Modify(now Time, to State, attr *Attr) error {
	if attr != nil && c.bug.attr != nil {
		changed := *attr
		c.bug.attr(&changed)
		attr = &changed
	}
	return c.QP.Modify(now, to, attr)
}

func (c *canary) PostSend(now Time, wr *SendWR) error {
	if !c.bug.patient {
		return c.QP.PostSend(now, wr)
	}
	c.kept = append(c.kept, wr)
	return nil
}

func (c *canary) HandlePacket(now Time, p *Packet) Verdict {
	if c.bug.received != nil && !c.bug.received(c, p) {
		return Drop
	}
	v := c.QP.HandlePacket(now, p)
	if c.bug.verdict != nil {
		c.bug.verdict(c, p, v)
	}
	return v
}

func (c *canary) PollTransmit(now Time, p *Packet) bool {
	ok := c.QP.PollTransmit(now, p)
	for !ok && len(c.kept) > 0 && c.QP.PostSend(now, c.kept[0]) == nil {
		c.kept = c.kept[1:]
		ok = c.QP.PollTransmit(now, p)
	}
	if ok && c.bug.sent != nil {
		c.bug.sent(c, p)
	}
	return ok
}

func (c *canary) PollCompletion(got *Completion) bool {
	if c.some {
		*got, c.some = c.held, false
		return true
	}
	for c.QP.PollCompletion(got) {
		if c.bug.complete == nil || c.bug.complete(c, got) {
			return true
		}
	}
	return false
}

func (c *canary) Timeout() Time {
	if c.bug.timeout != nil {
		return c.bug.timeout(c, c.QP.Timeout())
	}
	return c.QP.Timeout()
}

func isMPAck(p *Packet) bool { return p.Opcode == wire.MPBit|wire.Acknowledge }

var plantedBugs = []*plantedBug{
	{
		name: "an ACK is believed before the data arrived", mp: true,
		sent: func(_ *canary, p *Packet) {
			if isMPAck(p) && p.AETH.Syndrome.IsAck() {
				p.Ack.AACK = p.Ack.AACK.Add(1)
			}
		},
	},
	{
		name: "an RC ACK is believed before the data arrived", rc: true,
		sent: func(_ *canary, p *Packet) {
			if p.Opcode == wire.Acknowledge && p.AETH.Syndrome.IsAck() {
				p.PSN = p.PSN.Add(1)
			}
		},
	},
	{
		name: "a duplicate atomic runs again", rc: true, mp: true,
		received: func(c *canary, p *Packet) bool {
			if !p.Opcode.Base().IsAtomic() {
				return true
			}
			s, ok := c.h.mem.Resolve(1, p.AtomicETH.RKey, p.AtomicETH.VA, 8, RemoteAtomic)
			if ok && c.seen[p.PSN] {
				c.h.mem.Atomic(s, FetchAdd, p.AtomicETH.SwapAdd, 0)
			}
			c.seen[p.PSN] = true
			return true
		},
	},
	{
		name: "PSNs are compared as plain numbers", rc: true, mp: true,
		received: func(c *canary, p *Packet) bool {
			return p.PSN >= c.Attr().RecvPSN || isMPAck(p) || !p.Opcode.IsRequest()
		},
	},
	{
		name: "payload goes one byte too far", rc: true, mp: true,
		verdict: func(_ *canary, p *Packet, v Verdict) {
			if v == Place && len(p.Spans) > 0 {
				p.Spans[0].Offset++
			}
		},
	},
	{
		name: "a completion is reported twice", rc: true, mp: true,
		complete: func(c *canary, got *Completion) bool {
			if c.done++; c.done == 3 {
				c.held, c.some = *got, true
			}
			return true
		},
	},
	{
		name: "a completion is lost", rc: true, mp: true,
		complete: func(c *canary, _ *Completion) bool { c.done++; return c.done != 3 },
	},
	{
		name: "synchronise is forgotten", mp: true,
		sent: func(_ *canary, p *Packet) { p.MP.Sync = false },
	},
	{
		name: "a READ returns other bytes", rc: true, mp: true,
		verdict: func(c *canary, p *Packet, v Verdict) {
			if v == Place && p.Opcode.Base().IsReadResponse() && p.Spans[0].Offset > 0 {
				p.Spans[0].Offset--
			}
		},
	},
	{
		name: "the timer is never armed", rc: true, mp: true,
		timeout: func(*canary, Time) Time { return Never },
	},
	{
		name: "packets are sent and not counted", mp: true,
		sent: func(c *canary, p *Packet) {
			if isStreamData(p.Opcode) {
				c.Counters().PacketsSent--
			}
		},
	},
	{
		name: "a shared receive is given to two messages", mp: true, shared: true,
		received: func(c *canary, _ *Packet) bool {
			if own := &c.h.mp.rq.own.wqes; own.len() > 0 && own.at(0).taken && c.done == 0 {
				c.h.srq.wqes.push().copyFrom(own.at(0))
				c.done++
			}
			return true
		},
	},
	{
		name: "a message completes the receive of another", mp: true, shared: true,
		complete: func(c *canary, got *Completion) bool {
			if got.Op >= OpRecv && int(got.WRID|1) < c.h.work.recvPosted {
				got.WRID ^= 1
			}
			return true
		},
	},
	{
		name: "a shared receive is lost", rc: true, mp: true, shared: true,
		received: func(c *canary, _ *Packet) bool {
			if c.done == 0 && c.h.srq.Len() > 1 {
				c.h.srq.wqes.pop()
				c.done++
			}
			return true
		},
	},
	{
		name: "the immediate is dropped", rc: true, mp: true,
		complete: func(_ *canary, got *Completion) bool { got.Imm = 0; return true },
	},
}

// sabotage plants a bug in the queue pairs of a scenario.
func (s *scenario) plantBug(bug *plantedBug) {
	s.sabotage = func(h *host, qp QP) QP {
		if bug.plant != nil {
			bug.plant(h)
		}
		return &canary{QP: qp, h: h, bug: bug, seen: map[wire.PSN]bool{}}
	}
}

// TestCanaries shows that the harness finds bugs: each planted one within a few
// hundred seeds that can show it.
func TestCanaries(t *testing.T) {
	const within = 600
	for _, bug := range append(plantedBugs, drawnBugs...) {
		t.Run(bug.name, func(t *testing.T) {
			t.Parallel()
			for seed, tried := uint64(1), 0; tried <= within; seed++ {
				sc := randomScenario(seed)
				if !bug.mayShow(sc) {
					continue
				}
				tried++
				sc.plantBug(bug)
				if err := newWorld(sc).run(); err != nil {
					t.Logf("found by seed %d: %.200v", seed, err)
					return
				}
			}
			t.Errorf("not found within %d seeds", within)
		})
	}
}
