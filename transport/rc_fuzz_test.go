package transport

import (
	"testing"

	"github.com/braid-rdma/braid/wire"
)

// FuzzRC drives one queue pair by a string of small commands: posts, timers,
// and packets of any opcode whose numbers lie near those that matter. The peer
// may do anything; what must hold is checked after each command.
func FuzzRC(f *testing.F) {
	f.Add([]byte{0, 2, 0, 3, 7, 0x11, 1, 0, 7, 0x0c, 0, 9})
	f.Add([]byte{0, 5, 0, 6, 0, 4, 3, 0, 2, 0, 7, 0x10, 1, 0, 7, 0x12, 2, 0, 3, 0})
	f.Add([]byte{1, 0, 7, 0x00, 0, 1, 7, 0x02, 1, 4, 3, 0, 7, 0x06, 2, 1, 7, 0x13, 3, 0, 3, 0})
	f.Fuzz(func(t *testing.T, commands []byte) {
		s := newRCScript(t, func(a *Attr) { a.SendPSN, a.RecvPSN, a.Window, a.RetryCount = 0xfffffd, 0xfffffd, 8, 3 })
		for len(commands) >= 2 && len(commands) < 4096 {
			commands = s.fuzzStep(commands)
			s.checkInvariants()
		}
		s.Modify(s.now, Err, nil)
		var c Completion
		completed := uint64(0)
		for s.PollCompletion(&c) {
			if c.WRID != 0 { // sends count from 1, receives are 0
				if completed++; c.WRID != completed {
					t.Fatalf("request %d completed where %d was due", c.WRID, completed)
				}
			}
		}
		if completed != s.posted {
			t.Fatalf("%d of %d requests completed", completed, s.posted)
		}
	})
}

func (s *rcScript) fuzzStep(in []byte) []byte {
	command, arg := in[0]%8, in[1]
	switch command {
	case 0:
		s.fuzzPost(Op(arg)%numSendOps, int(arg))
	case 1:
		s.PostRecv(&RecvWR{SGEs: []SGE{s.region.span(0, int(arg)*8)}})
	case 2:
		if s.Timeout() != Never {
			s.advanceToTimer()
		}
	case 3:
		s.sent()
	case 4:
		s.PollTransmit(s.now, &s.packet)
	case 5:
		s.Modify(s.now, []State{RTS, SQD}[arg%2], nil)
	default:
		if len(in) < 4 {
			return nil
		}
		s.fuzzPacket(wire.Opcode(arg), in[2], in[3])
		return in[4:]
	}
	return in[2:]
}

func (s *rcScript) fuzzPost(op Op, n int) {
	wr := SendWR{ID: s.posted + 1, Op: op, Flags: Signaled, SGEs: []SGE{s.region.span(0, n*16)}, RKey: wire.RKey(n)}
	if op.isAtomic() {
		wr.SGEs[0].Length = 8
	}
	if s.PostSend(s.now, &wr) == nil {
		s.posted++
	}
}

// fuzzPacket hands in a packet near the edge of a window: of the requester for
// answers, of the responder for requests.
func (s *rcScript) fuzzPacket(op wire.Opcode, where, size byte) {
	psn := s.req.una
	if op.IsRequest() {
		psn = s.resp.expected
	}
	lengths := []int{0, 1, 8, 255, 256, 257}
	length := lengths[int(size)%len(lengths)]
	s.request(op, psn.Add(int(where%16)-6), length, func(p *Packet) {
		p.RETH.Length = uint32(size) * 16
		p.RETH.VA += uint64(where) * 1024
		p.AETH.Syndrome = wire.Syndrome(size & 0x7f)
		p.AckReq = size&1 != 0
		p.IETH.RKey = wire.RKey(where)
		if !op.HasPayload() {
			p.Length = 0
		}
	})
	for _, span := range s.packet.Spans {
		if span.Offset+uint64(span.Length) > span.Region.Length {
			s.t.Fatalf("%s goes beyond its region: %+v", show(&s.packet), span)
		}
	}
}

func (s *rcScript) checkInvariants() {
	r := &s.req
	if r.cursor.Before(r.una) || r.nxt.Before(r.cursor) {
		s.t.Fatalf("una %d, cursor %d, nxt %d", r.una, r.cursor, r.nxt)
	}
	if r.at < 0 || r.at > s.sq.started || s.sq.started > s.sq.wqes.len() {
		s.t.Fatalf("cursor at %d of %d started, %d queued", r.at, s.sq.started, s.sq.wqes.len())
	}
	if r.outstanding < 0 || r.outstanding > s.attr.Reads || r.awaiting < 0 || r.nxt.Sub(r.una) > r.window {
		s.t.Fatalf("outstanding %d, awaiting %d, in flight %d", r.outstanding, r.awaiting, r.nxt.Sub(r.una))
	}
	if a := &s.resp.responses; a.fresh > s.attr.ReadsServed || len(a.items) > 2*s.attr.ReadsServed {
		s.t.Fatalf("%d answers, %d of them fresh", len(a.items), a.fresh)
	}
	if s.state == RTS && r.una != r.cursor && s.Timeout() == Never {
		s.t.Fatal("packets are in flight and no timer runs")
	}
	if s.state == Err && (s.sq.wqes.len() > 0 || s.rq.own.Len() > 0 || s.Timeout() != Never) {
		s.t.Fatal("the error state keeps work")
	}
}
