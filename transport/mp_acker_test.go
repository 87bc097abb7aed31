package transport

import (
	"testing"

	"github.com/braid-rdma/braid/wire"
)

// What an acknowledgement says, MP-RDMA §3.1, singly and in batches.

// §3.1: the ACK carries the path, SACK, AACK and ECE of the data packet;
// §3.3.2: and whether it was a retransmission.
func TestMPAckSaysEverythingAboutItsPacket(t *testing.T) {
	q := newMPTest(t, nil)
	q.mp.SetWindow(777)
	packets := q.peerWrite(0, 0, pattern(1, 3*mpMTU))
	p := packets[2]
	p.Marked, p.MP.ReTx, p.MP.Path, p.MP.SentAt = true, true, 11, 0xdeadbeef
	q.arrive(packets[0], p)
	sent := q.wantReplies("per packet", "ack 0 head 1", "ack 2 head 1 marked again")
	got := sent[1]
	want := wire.MPAck{ECE: true, ReTx: true, Path: 11, SACK: peerFirst.Add(2), AACK: peerFirst.Add(1), SentAt: 0xdeadbeef, Window: 777}
	if got.Ack != want {
		t.Errorf("ACK %+v, want %+v", got.Ack, want)
	}
	if got.Path != 11 || got.DestQP != q.mp.attr.RemoteQPN || got.PSN != peerFirst.Add(2) || got.Length != 0 || len(got.Spans) != 0 {
		t.Errorf("packet of the ACK: %+v", got)
	}
	if q.mp.Counters().ECNMarked != 1 {
		t.Error("the mark is not counted")
	}
}

// together hands over packets before the queue pair may answer any.
func (q *mpTest) together(packets ...peerPacket) {
	q.t.Helper()
	for _, p := range packets {
		h := p.Packet
		q.mp.HandlePacket(q.now, &h)
	}
	q.drain()
}

// onePath makes a WRITE of n packets that all came by one path.
func (q *mpTest) onePath(n int, path uint16) []peerPacket {
	all := q.peerWrite(0, 0, pattern(1, n*mpMTU))
	for i := range all {
		all[i].MP.Path = path
	}
	return all
}

// Without batches each packet has its own ACK, however many wait.
func TestMPPaperAcksAreSingle(t *testing.T) {
	q := newMPTest(t, nil)
	q.together(q.onePath(3, 4)...)
	q.wantReplies("three packets", "ack 0 head 3", "ack 1 head 3", "ack 2 head 3")
}

// A batch tells the mark and the retransmission of each packet of its path.
func TestMPBatchedAcks(t *testing.T) {
	batched := func(o *MPOptions) { o.BatchAcks = true }
	t.Run("one path", func(t *testing.T) {
		q := newMPTest(t, batched)
		p := q.onePath(4, 4)
		p[0].Marked, p[1].Marked, p[3].MP.ReTx, p[3].MP.SentAt = true, true, true, 55
		q.together(p[0], p[1], p[3])
		sent := q.wantReplies("packet 2 is missing", "batch 0 1011 head 2 marked 11 again 1000")
		if b := sent[0].Batch; b.Path != 4 || sent[0].Path != 4 || b.SentAt != 55 {
			t.Errorf("path %d by %d, time %d", b.Path, sent[0].Path, b.SentAt)
		}
	})
	t.Run("a single packet", func(t *testing.T) {
		q := newMPTest(t, batched)
		q.together(q.onePath(1, 4)...)
		q.wantReplies("the short form", "ack 0 head 1")
	})
	t.Run("paths stay apart", func(t *testing.T) {
		q := newMPTest(t, batched)
		p := q.onePath(4, 4)
		p[1].MP.Path, p[3].MP.Path = 9, 9
		q.together(p...)
		sent := q.wantReplies("two paths", "batch 0 101 head 4 marked 0 again 0", "batch 1 101 head 4 marked 0 again 0")
		if sent[0].Path != 4 || sent[1].Path != 9 {
			t.Errorf("answered by paths %d and %d", sent[0].Path, sent[1].Path)
		}
	})
	t.Run("a lower number after a higher", func(t *testing.T) {
		q := newMPTest(t, batched)
		p := q.onePath(6, 4)
		p[5].Marked, p[5].MP.ReTx = true, true
		q.together(p[5], p[2])
		q.wantReplies("the base moves down", "batch 2 1001 head 0 marked 1000 again 1000")
	})
	t.Run("farther apart than a batch", func(t *testing.T) {
		q := newMPTest(t, func(o *MPOptions) { o.BatchAcks, o.Slots = true, 128 })
		p := q.onePath(70, 4)
		q.together(p[0], p[64], p[63])
		q.wantReplies("two answers", "ack 0 head 1", "batch 63 11 head 1 marked 0 again 0")
	})
}

// Everything that arrived is acknowledged exactly once, whatever the order of
// arrival and however the batches fall.
func TestMPBatchesCoverEveryPacketOnce(t *testing.T) {
	q := newMPTest(t, func(o *MPOptions) { o.BatchAcks, o.Slots = true, 256 })
	p := q.onePath(200, 4)
	for i := range p {
		p[i].MP.Path = uint16(i * 7 % 3)
	}
	for i := range p { // an order that jumps to and fro
		j := i * 89 % 200
		p[i], p[j] = p[j], p[i]
	}
	seen := map[wire.PSN]int{}
	for len(p) > 0 {
		k := min(len(p), 17)
		q.together(p[:k]...)
		p = p[k:]
		for i := range q.unwanted {
			a := &q.unwanted[i]
			if a.Opcode != wire.MPAcknowledgeBatch {
				seen[a.Ack.SACK]++
				continue
			}
			for bit := range 64 {
				if a.Batch.Received>>bit&1 != 0 {
					seen[a.Batch.Base.Add(bit)]++
				}
			}
		}
		q.unwanted = nil
	}
	for n := range 200 {
		if seen[peerFirst.Add(n)] != 1 {
			t.Fatalf("packet %d was acknowledged %d times", n, seen[peerFirst.Add(n)])
		}
	}
}

// A probe is echoed by its own path, with its time.
func TestMPProbeIsEchoed(t *testing.T) {
	q := newMPTest(t, nil)
	probe := Packet{Headers: wire.Headers{BTH: wire.BTH{Opcode: wire.MPProbe}, MP: wire.MPData{Path: 6, SentAt: 99}}}
	q.handlePacket(probe)
	sent := q.wantReplies("echo", "echo path 6")
	if sent[0].Ack.Path != 6 || sent[0].Ack.SentAt != 99 {
		t.Errorf("echo %+v", sent[0].Ack)
	}
	for range 3 * maxProbeAcks {
		h := probe
		q.mp.HandlePacket(q.now, &h)
	}
	q.drain()
	if len(q.unwanted) != maxProbeAcks {
		t.Errorf("a flood of probes gets %d echoes, want %d", len(q.unwanted), maxProbeAcks)
	}
}
