package transport

import (
	"testing"

	"github.com/braid-rdma/braid/wire"
)

// Go-back-0: the way of early NICs, kept to show what was wrong with it.

func newRestartScript(t testing.TB, change func(*Attr)) *rcScript {
	t.Helper()
	attr := rcDefaults()
	if change != nil {
		change(&attr)
	}
	return &rcScript{rcEnd: newRCEndWith(t, attr, RCOptions{Recovery: GoBackZero}), now: 1000}
}

func TestRCRestartSendsTheWholeMessageAgain(t *testing.T) {
	s := newRestartScript(t, nil)
	s.write(2)
	s.write(4)
	s.wantSent("two messages", "WRITE_FIRST 0?", "WRITE_LAST 1?", "WRITE_FIRST 2", "WRITE_MIDDLE 3", "WRITE_MIDDLE 4", "WRITE_LAST 5?")
	s.ack(3) // acknowledged, and forgotten by the receiver a moment later
	s.wantCompletions("the first message", "1 SUCCESS")
	s.nak(2, wire.NakPSNSequence)
	s.wantSent("the second message from its first packet", "WRITE_FIRST 2", "WRITE_MIDDLE 3", "WRITE_MIDDLE 4", "WRITE_LAST 5?")
	s.advanceToTimer()
	s.wantSent("silence is a loss, too", "WRITE_FIRST 2", "WRITE_MIDDLE 3", "WRITE_MIDDLE 4", "WRITE_LAST 5?")
	s.ack(5)
	s.wantCompletions("at last", "2 SUCCESS")
}

// The pieces of a READ are messages of their own on the wire.
func TestRCRestartAsksForTheWholePieceAgain(t *testing.T) {
	s := newRestartScript(t, func(a *Attr) { a.Window, a.Reads = 8, 2 })
	s.read(8)
	s.wantSent("two pieces of four packets", "READ_REQUEST 0", "READ_REQUEST 4")
	s.response(wire.ReadResponseFirst, 0, 256, nil)
	for psn := range wire.PSN(2) {
		s.response(wire.ReadResponseMiddle, psn+1, 256, nil)
	}
	s.response(wire.ReadResponseLast, 3, 256, nil)
	s.response(wire.ReadResponseFirst, 4, 256, nil)
	s.response(wire.ReadResponseMiddle, 6, 256, nil) // 5 is missing
	s.wantSent("the second piece, whole", "READ_REQUEST 4")
	if n := s.packet.RETH.Length; n != 4*256 {
		t.Errorf("asks for %d bytes", n)
	}
}

func TestRCRestartReceiverForgetsTheMessage(t *testing.T) {
	s := newRestartScript(t, nil)
	s.recv(7, 1024)
	quiet := func(p *Packet) { p.AckReq = false }
	s.request(wire.WriteOnly, 0, 4, quiet)
	s.request(wire.SendFirst, 1, 256, quiet)
	s.request(wire.SendMiddle, 2, 256, quiet)
	s.request(wire.SendLast, 4, 10, quiet)
	s.wantSent("the first packet of the message is asked for", "NAK_PSN_SEQUENCE 1")
	s.request(wire.SendMiddle, 3, 256, quiet)
	s.wantSent("what is still on its way is dropped")
	s.request(wire.SendFirst, 1, 256, quiet)
	s.request(wire.SendMiddle, 2, 256, quiet)
	s.request(wire.SendFirst, 1, 256, quiet) // the sender timed out and begins again
	s.request(wire.SendMiddle, 2, 256, quiet)
	s.request(wire.SendMiddle, 3, 256, quiet)
	s.request(wire.SendLast, 4, 10, nil)
	s.wantSent("the whole message", "ACK 4")
	var c Completion
	if !s.PollCompletion(&c) || c.WRID != 7 || c.Bytes != 3*256+10 || s.PollCompletion(&c) {
		t.Errorf("completion %+v", c)
	}
}

// RoCE at scale, §4.1: with one packet in n lost, a message of more than n
// packets never arrives by go-back-0, though the network is full of it, while
// go-back-N completes it.
func TestRCRestartLivelocks(t *testing.T) {
	for _, recovery := range []Recovery{GoBackN, GoBackZero} {
		p := newRCPairWith(t, nil, RCOptions{Recovery: recovery})
		sent := 0
		p.copies = func(from *rcEnd, _ *Packet) int {
			if from == p.a {
				if sent++; sent%50 == 0 {
					return 0
				}
			}
			return 1
		}
		p.a.post(SendWR{Op: OpWrite, SGEs: []SGE{p.a.region.span(0, 200*256)}, RemoteAddr: p.b.region.Base, RKey: p.b.region.RKey})
		for range 500 {
			if p.carry(p.a)+p.carry(p.b) == 0 && p.a.Timeout() != Never {
				p.now = max(p.now, p.a.Timeout())
				p.a.HandleTimeout(p.now)
			}
			p.now += Microsecond
		}
		done := len(p.a.completions()) == 1
		if done != (recovery == GoBackN) {
			t.Errorf("recovery %d: complete %v after %d packets", recovery, done, sent)
		}
		if recovery == GoBackZero && (sent < 10000 || p.a.State() != RTS) {
			t.Errorf("livelock: %d packets sent, state %v", sent, p.a.State())
		}
	}
}
