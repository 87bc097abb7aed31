package transport

import (
	"math/rand/v2"
	"testing"

	"github.com/braid-rdma/braid/wire"
)

// Direct placement of out-of-order data, MP-RDMA §3.1 and §3.4.

// §3.1: every WRITE packet carries the address of its own data.
func TestMPWritePlacedByAddress(t *testing.T) {
	q := newMPTest(t, nil)
	content := pattern(7, 5*mpMTU+33)
	packets := q.peerWrite(0, 100, content)
	for i := len(packets) - 1; i >= 0; i-- {
		q.arrive(packets[i])
		at := min(len(content), (i+1)*mpMTU)
		q.wantBytes("placed at once", q.exposed, 100+i*mpMTU, content[i*mpMTU:at])
	}
	q.wantBytes("nothing before", q.exposed, 0, make([]byte, 100))
	q.wantBytes("nothing after", q.exposed, 100+len(content), make([]byte, 64))
	q.wantDone("a WRITE completes nothing at the receiver")
}

// §3.1: the MSN finds the receive, the intra-message PSN the place in it,
// whatever the order of arrival. Messages that consume a receive are counted,
// others are not.
func TestMPSendPlacedByMSNAndOffset(t *testing.T) {
	for seed := range uint64(20) {
		q := newMPTest(t, nil)
		sizes := []int{700, 256, 0, 1000}
		contents := [][]byte{}
		var packets []peerPacket
		for msn, size := range sizes {
			content := pattern(byte(msn+1), size)
			contents = append(contents, content)
			// A scatter list of odd pieces.
			wr := RecvWR{ID: uint64(msn + 1), SGEs: []SGE{
				q.local.span(msn*2048, 100), q.local.span(msn*2048+100, 333), q.local.span(msn*2048+433, 700),
			}}
			if err := q.mp.PostRecv(&wr); err != nil {
				t.Fatal(err)
			}
			packets = append(packets, q.peerWrite(len(packets), 4096*msn, pattern(9, 300))...)
			packets = append(packets, q.peerSend(len(packets), msn, content)...)
		}
		r := rand.New(rand.NewPCG(seed, 0))
		r.Shuffle(len(packets), func(i, j int) { packets[i], packets[j] = packets[j], packets[i] })
		q.arrive(packets...)
		q.wantDone("in order of posting", 1, 2, 3, 4)
		for msn, content := range contents {
			q.wantBytes("SEND", q.local, msn*2048, content)
			q.wantBytes("WRITE between them", q.exposed, 4096*msn, pattern(9, 300))
		}
	}
}

// WRITE with immediate takes a receive too, and its MSN says which.
func TestMPWriteImmConsumesReceive(t *testing.T) {
	q := newMPTest(t, nil)
	for i := range 3 {
		q.recv(uint64(i+1), i*1024, 1024)
	}
	first := q.peerSend(0, 0, pattern(1, 10))
	imm := q.toExposed(peerMessage(OpWriteImm, 1, 1, pattern(2, 300)), 0, 300)
	imm[1].Imm, imm[1].Solicited = 0xfeed, true
	last := q.peerSend(3, 2, pattern(3, 20))
	q.arrive(last...)
	q.arrive(imm...)
	q.arrive(first...)
	got := q.completions()
	if len(got) != 3 || got[1].WRID != 2 || got[1].Op != OpRecvWriteImm || got[1].Bytes != 300 || !got[1].HasImm || got[1].Imm != 0xfeed || !got[1].Solicited {
		t.Fatalf("completions %+v", got)
	}
	q.wantBytes("the third receive got the last SEND", q.local, 2048, pattern(3, 20))
}

// SEND with invalidate ends the key when the head reaches it, not before.
func TestMPInvalidateWaitsForTheHead(t *testing.T) {
	q := newMPTest(t, nil)
	q.recv(1, 0, 1024)
	write := q.peerWrite(0, 0, pattern(1, 10))
	inv := peerMessage(OpSendInv, 1, 0, pattern(2, 10))
	inv[0].IETH.RKey = q.exposed.RKey
	q.arrive(inv...)
	if q.mem.ended(q.exposed) {
		t.Fatal("the key was ended while an earlier WRITE was missing")
	}
	q.arrive(write...)
	got := q.completions()
	if len(got) != 1 || !got[0].HasInv || got[0].InvalidatedRKey != q.exposed.RKey || !q.mem.ended(q.exposed) {
		t.Fatalf("completions %+v, key ended: %v", got, q.mem.ended(q.exposed))
	}
}

// A duplicate is acknowledged again and changes nothing.
func TestMPDuplicatesChangeNothing(t *testing.T) {
	q := newMPTest(t, nil)
	q.recv(1, 0, 1024)
	q.recv(2, 1024, 1024)
	packets := q.peerSend(0, 0, pattern(1, 600))
	q.arrive(packets[0], packets[2], packets[1])
	q.wantDone("once", 1)
	q.forget()
	clear(q.local.Bytes[:600])
	for _, p := range packets {
		p.MP.ReTx = true
		if v := q.arrive1(p); v != Done {
			t.Fatalf("a duplicate is placed: %v", v)
		}
	}
	q.wantReplies("duplicates", "ack 0 head 3 again", "ack 1 head 3 again", "ack 2 head 3 again")
	q.wantDone("not twice")
	q.wantBytes("not written again", q.local, 0, make([]byte, 600))
	if got := q.mp.Counters().DuplicateRequest; got != 3 {
		t.Errorf("%d duplicates counted", got)
	}
}

// Packets outside every window are neither acknowledged nor placed.
func TestMPStaleDataIsDropped(t *testing.T) {
	q := newMPTest(t, nil)
	p := q.peerWrite(0, 0, pattern(1, 10))[0]
	p.PSN = peerFirst.Add(-3 * MaxTrackingSlots)
	if v := q.arrive1(p); v != Drop {
		t.Errorf("stale packet: %v", v)
	}
	q.wantReplies("no answer")
	p = q.peerWrite(0, 0, pattern(1, 10))[0]
	p.Opcode = wire.WriteOnly
	if v := q.arrive1(p); v != Drop {
		t.Errorf("RC packet on an MP queue pair: %v", v)
	}
	q.wantReplies("no answer")
}
