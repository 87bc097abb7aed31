package transport

import "github.com/braid-rdma/braid/wire"

// drawnBugs are bugs that only the draws of harness_draws can show, one for each
// of their promises. A slow interface alone breaks none: what it shows, it shows
// together with the others.
var drawnBugs = []*plantedBug{
	{
		name: "a response waits for the program's next receive", rc: true, mp: true, needs: []draw{drawGates},
		received: func(c *canary, p *Packet) bool { return !isResponse(p) || !lacksReceive(c.h) },
	},
	{
		name: "an acknowledgement waits for the receives of another connection", rc: true, mp: true, needs: []draw{drawSecond},
		received: func(c *canary, p *Packet) bool {
			w := c.h.w
			other := w.second
			if w.first != nil {
				other = w.first
			}
			return p.Opcode.IsRequest() || !lacksReceive(other.hosts[1-c.h.index])
		},
	},
	{
		name: "a forwarded message is taken from where the next one arrives", rc: true, mp: true, needs: []draw{drawSecond},
		sent: func(c *canary, p *Packet) {
			for i := range p.Spans {
				if s := &p.Spans[i]; s.Region != c.h.model.pattern && s.Region.Access == LocalWrite && s.Offset+uint64(s.Length) < s.Region.Length {
					s.Offset++
				}
			}
		},
	},
	{
		name: "requests wait for the end of responses", rc: true, mp: true, needs: []draw{drawBeside},
		patient: true,
	},
	{
		name: "a key lives on", rc: true, mp: true, needs: []draw{drawRekey, drawInvalidate},
		plant: func(h *host) { h.mem.lax = true },
	},
	{
		name: "memory lives on", rc: true, mp: true, needs: []draw{drawDeregister},
		plant: func(h *host) { h.mem.lax = true },
	},
	{
		name: "the order of arrival is taken for that of the stream", rc: true, needs: []draw{drawJitter},
		received: func(c *canary, p *Packet) bool {
			if !p.Opcode.IsRequest() {
				return true
			}
			if next := c.h.w.sc.attr[c.h.index].RecvPSN.Add(c.done); p.PSN == next.Add(1) && !c.seen[next] {
				p.PSN = next
			}
			if !c.seen[p.PSN] {
				c.seen[p.PSN] = true
				c.done++
			}
			return true
		},
	},
	{
		name: "the ACK timeout is an eighth of what was asked for", rc: true, mp: true, needs: []draw{drawDead},
		attr: func(a *Attr) { a.Timeout -= 3 },
	},
	{
		name: "the ACK timeout is eight times what was asked for", rc: true, mp: true, needs: []draw{drawDead},
		attr: func(a *Attr) { a.Timeout += 3 },
	},
}

func isResponse(p *Packet) bool {
	return p.Opcode.Base().IsReadResponse() || p.Opcode.Base() == wire.AtomicAcknowledge
}

// lacksReceive says whether a host has no receive posted though messages are to come.
func lacksReceive(h *host) bool {
	l := &h.work
	return l.recvPosted == l.recvDone && l.recvPosted < len(l.recvs) && !h.failed && !l.aborted
}
