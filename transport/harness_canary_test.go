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
}

// plantedBug says what goes wrong. Unset functions change nothing.
type plantedBug struct {
	name     string
	rc, mp   bool // which queue pairs can have it
	received func(c *canary, p *Packet) (deliver bool)
	verdict  func(c *canary, p *Packet, v Verdict)
	sent     func(c *canary, p *Packet)
	complete func(c *canary, got *Completion) (report bool)
	timeout  func(c *canary, at Time) Time
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
		name: "the immediate is dropped", rc: true, mp: true,
		complete: func(_ *canary, got *Completion) bool { got.Imm = 0; return true },
	},
}

// TestCanaries shows that the harness finds bugs: each planted one within a few
// hundred seeds.
func TestCanaries(t *testing.T) {
	const within = 600
	for _, bug := range plantedBugs {
		t.Run(bug.name, func(t *testing.T) {
			t.Parallel()
			for seed := uint64(1); seed <= within; seed++ {
				sc := randomScenario(seed)
				if sc.rc && !bug.rc || !sc.rc && !bug.mp {
					continue
				}
				sc.sabotage = func(h *host, qp QP) QP { return &canary{QP: qp, h: h, bug: bug, seen: map[wire.PSN]bool{}} }
				if err := newWorld(sc).run(); err != nil {
					t.Logf("found by seed %d: %.200v", seed, err)
					return
				}
			}
			t.Errorf("not found within %d seeds", within)
		})
	}
}
