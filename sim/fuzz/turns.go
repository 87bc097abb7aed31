package fuzz

import "github.com/braid-rdma/braid/transport"

// fairness watches that a short request gets its turn among the packets of long
// responses.
type fairness struct {
	begun  int // SENDs of which a packet has left
	waited int // packets of responses that have left since, while another SEND was posted
}

// maxWait is how many packets of responses may leave before a request that waits
// for nothing else: four turns of RC.
const maxWait = 64

// checkTurns checks a packet of an end that sends short messages, while its peer
// READs. A queue pair that sends packets again has a narrow window, and other
// things to do first; and one whose window is full waits for the peer.
func (e *end) checkTurns(now transport.Time, qp transport.QP, p *transport.Packet) {
	if !e.beside || e.side == 0 {
		return
	}
	f := &e.turns
	switch op := p.Opcode.Base(); {
	case op.IsSend():
		f.waited = 0
		if p.Opcode.IsMP() {
			f.begun = max(f.begun, int(p.MP.MSN)+1)
		} else {
			f.begun = max(f.begun, p.PSN.Sub(qp.Attr().SendPSN)+1)
		}
	case e.posted <= f.begun || qp.Counters().Retransmitted > 0 || qp.Blocked(now) != transport.ReasonNone:
		f.waited = 0
	case op.IsReadResponse():
		if f.waited++; f.waited > maxWait {
			e.fail("SEND %d waits while %d packets of responses leave", f.begun, f.waited)
		}
	}
}

// checkLeaving checks that no byte leaves by a key that is ended, not even in the
// middle of a READ response, and ends those keys that are to end there.
func (e *end) checkLeaving(p *transport.Packet) {
	if !p.Opcode.Base().IsReadResponse() || p.Length == 0 {
		return
	}
	if e.revoked {
		e.fail("a READ response goes on when the key of its memory is ended")
	}
	if e.responses++; e.responses == e.spec.amid {
		e.w.later(e.host, 0, e.revoke)
	}
}
