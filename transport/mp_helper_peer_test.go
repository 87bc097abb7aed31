package transport

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/braid-rdma/braid/wire"
)

// The scripted peer's own requests, and what the queue pair answers to them.

// peerPacket is a data packet of the scripted peer with its payload.
type peerPacket struct {
	Packet
	payload []byte
}

// pattern is the payload of a message: no two messages of a test are alike.
func pattern(seed byte, length int) []byte {
	b := make([]byte, length)
	for i := range b {
		b[i] = seed + byte(i) + byte(i/251)
	}
	return b
}

// peerMessage cuts a message into packets, the first with number first.
func peerMessage(op Op, first, msn int, content []byte) []peerPacket {
	packets := int(packetsFor(uint32(len(content)), mpMTU))
	all := make([]peerPacket, packets)
	for i := range all {
		p := &all[i]
		p.payload = content[i*mpMTU : min(len(content), (i+1)*mpMTU)]
		p.Length = len(p.payload)
		p.Opcode = wire.MPBit | segments[op].opcode(uint32(i), uint32(packets))
		p.PSN = peerFirst.Add(first + i)
		p.MP = wire.MPData{Path: uint16(i % 16), MSN: uint32(msn), Offset: uint32(i), SentAt: uint32(1000 + first + i)}
	}
	return all
}

// peerSend makes a SEND; its msn counts the messages before it that consume a receive.
func (q *mpTest) peerSend(first, msn int, content []byte) []peerPacket {
	return peerMessage(OpSend, first, msn, content)
}

// peerWrite makes a WRITE to the exposed memory at offset.
func (q *mpTest) peerWrite(first, offset int, content []byte) []peerPacket {
	return q.toExposed(peerMessage(OpWrite, first, 0, content), offset, len(content))
}

func (q *mpTest) toExposed(all []peerPacket, offset, length int) []peerPacket {
	for i := range all {
		all[i].RETH = wire.RETH{VA: q.exposed.Base + uint64(offset+i*mpMTU), RKey: q.exposed.RKey, Length: uint32(length)}
	}
	return all
}

// peerRequest makes a READ or atomic request for the exposed memory.
func (q *mpTest) peerRequest(op wire.Opcode, n, msn, offset, length int) peerPacket {
	va := q.exposed.Base + uint64(offset)
	return peerPacket{Packet: Packet{Headers: wire.Headers{
		BTH:       wire.BTH{Opcode: wire.MPBit | op, PSN: peerFirst.Add(n)},
		MP:        wire.MPData{MSN: uint32(msn)},
		RETH:      wire.RETH{VA: va, RKey: q.exposed.RKey, Length: uint32(length)},
		AtomicETH: wire.AtomicETH{VA: va, RKey: q.exposed.RKey, SwapAdd: 5},
	}}}
}

// arrive hands over packets of the peer and does the engine's part: it copies
// the payload to where the queue pair says.
func (q *mpTest) arrive(packets ...peerPacket) {
	q.t.Helper()
	for _, p := range packets {
		q.arrive1(p)
	}
}

func (q *mpTest) arrive1(p peerPacket) Verdict {
	q.t.Helper()
	h := p.Packet
	v := q.mp.HandlePacket(q.now, &h)
	if v == Place {
		if n := totalLength(h.Spans); n != uint64(len(p.payload)) {
			q.t.Fatalf("packet %d: %d bytes placed, %d came", p.PSN.Sub(peerFirst), n, len(p.payload))
		}
		rest := p.payload
		for _, s := range h.Spans {
			rest = rest[copy(s.Bytes(), rest):]
		}
	}
	q.drain()
	return v
}

// recv offers a receive of that many bytes of the local memory.
func (q *mpTest) recv(id uint64, offset, length int) {
	q.t.Helper()
	if err := q.mp.PostRecv(&RecvWR{ID: id, SGEs: []SGE{q.local.span(offset, length)}}); err != nil {
		q.t.Fatal(err)
	}
}

// describe is an answer in the language of the tests.
func describe(p *Packet) string {
	n := func(x wire.PSN) int { return x.Sub(peerFirst) }
	switch {
	case p.Opcode == wire.MPAcknowledgeBatch:
		b := p.Batch
		return fmt.Sprintf("batch %d %b head %d marked %b again %b", n(b.Base), b.Received, n(b.AACK), b.Marked, b.ReTx)
	case p.Opcode == wire.MPProbeAck:
		return fmt.Sprintf("echo path %d", p.Path)
	case isStreamData(p.Opcode):
		return p.Opcode.String()
	case !p.AETH.Syndrome.IsAck():
		return fmt.Sprintf("%v %d refused %d head %d", p.AETH.Syndrome, n(p.PSN), n(p.Ack.SACK), n(p.Ack.AACK))
	}
	s := fmt.Sprintf("ack %d head %d", n(p.Ack.SACK), n(p.Ack.AACK))
	if p.Ack.ECE {
		s += " marked"
	}
	if p.Ack.ReTx {
		s += " again"
	}
	return s
}

// wantReplies checks everything that was sent since the last call, by description.
func (q *mpTest) wantReplies(why string, want ...string) []Packet {
	q.t.Helper()
	q.drain()
	var got []string
	for i := range q.unwanted {
		got = append(got, describe(&q.unwanted[i]))
	}
	if !slices.Equal(got, want) {
		q.t.Fatalf("%s:\n got %q\nwant %q", why, got, want)
	}
	sent := q.unwanted
	q.unwanted = nil
	return sent
}

// forget drops what was sent: the test is about something else.
func (q *mpTest) forget() { q.drain(); q.unwanted = nil }

// wantBytes checks memory.
func (q *mpTest) wantBytes(why string, r *Region, offset int, want []byte) {
	q.t.Helper()
	if got := r.Bytes[offset : offset+len(want)]; !bytes.Equal(got, want) {
		q.t.Fatalf("%s: memory at %d differs", why, offset)
	}
}
