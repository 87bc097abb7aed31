package transport

import (
	"testing"

	"github.com/braid-rdma/braid/wire"
)

// The tracking bitmap, MP-RDMA §3.3.1.

// §3.3.1: two bits per slot; table 1: 16 bytes for L=64.
func TestMPBitmapIsCyclicAndSmall(t *testing.T) {
	b := newBitmap(64)
	if len(b.words) != 0 || b.at(63) != empty {
		t.Error("a bitmap takes memory before the first packet comes out of order")
	}
	b.set(5, received)
	if bytes := 8 * len(b.words); bytes != 16 {
		t.Errorf("L=64 takes %d bytes, want 16", bytes)
	}
	states := []slot{empty, received, tail, tailCompletion}
	for _, first := range []seq{0, 63, firstSeq(0xffffff)} {
		for i := range seq(64) {
			b.set(first+i, states[i%4])
		}
		for i := range seq(64) {
			if got := b.at(first + i); got != states[i%4] {
				t.Fatalf("slot %d from %d is %d, want %d", i, first, got, states[i%4])
			}
			if b.at(first+i) != b.at(first+i+64) {
				t.Fatal("the array is not cyclic")
			}
		}
	}
}

// §3.3.1: a tail is marked "with completion" if the opcode asks for one.
func TestMPSlotStates(t *testing.T) {
	q := newMPTest(t, nil)
	q.recv(1, 0, 4096)
	q.recv(2, 4096, 4096)
	imm := q.toExposed(peerMessage(OpWriteImm, 1, 0, pattern(1, 2*mpMTU)), 0, 2*mpMTU)
	write := q.peerWrite(3, 1024, pattern(2, 2*mpMTU))
	send := q.peerSend(5, 1, pattern(3, 2*mpMTU))
	read := q.peerRequest(wire.ReadRequest, 7, 0, 0, 64)
	add := q.peerRequest(wire.FetchAdd, 8, 1, 0, 8)
	q.arrive(add, read, send[1], send[0], write[1], write[0], imm[1], imm[0])
	for n, want := range []slot{empty, received, tailCompletion, received, tail, received, tailCompletion, tailCompletion, tailCompletion, empty} {
		if got := q.mp.recv.in[requests].slots.at(firstSeq(peerFirst) + seq(n)); got != want {
			t.Errorf("slot of packet %d is %d, want %d", n, got, want)
		}
	}
	if got := q.mp.Counters(); got.OOOAccepted != 8 || got.MaxOutOfOrder != 8 {
		t.Errorf("%d packets out of order, degree %d, want 8 and 8", got.OOOAccepted, got.MaxOutOfOrder)
	}
}

// §3.3.1: only the head-of-the-line message completes.
func TestMPCompletionsWaitForTheHead(t *testing.T) {
	q := newMPTest(t, nil)
	for i := range 3 {
		q.recv(uint64(i+1), i*1024, 1024)
	}
	a, b, c := q.peerSend(0, 0, pattern(1, 600)), q.peerSend(3, 1, pattern(2, 300)), q.peerSend(5, 2, pattern(3, 10))
	q.arrive(c...)
	q.arrive(b...)
	q.arrive(a[0], a[2])
	q.wantDone("the first message has a hole")
	q.arrive(a[1])
	got := q.completions()
	for i, want := range []uint32{600, 300, 10} {
		if i >= len(got) || got[i].WRID != uint64(i+1) || got[i].Bytes != want || got[i].Op != OpRecv {
			t.Fatalf("completions %+v", got)
		}
	}
	for i, m := range [][]byte{pattern(1, 600), pattern(2, 300), pattern(3, 10)} {
		q.wantBytes("message", q.local, i*1024, m)
	}
}

// A message may be longer than L, because the head moves packet by packet.
func TestMPMessageLongerThanBitmap(t *testing.T) {
	q := newMPTest(t, func(o *MPOptions) { o.Slots, o.Delta = 4, 2 })
	q.recv(1, 0, 40*mpMTU)
	content := pattern(9, 40*mpMTU)
	packets := q.peerSend(0, 0, content)
	for i := 0; i < 40; i += 4 { // the four slots fill from the far end
		q.arrive(packets[i+3], packets[i+2], packets[i+1], packets[i])
	}
	q.wantDone("the whole message", 1)
	q.wantBytes("a message ten times L", q.local, 0, content)
}

// §3.3.2: beyond rcv_nxt + L the packet is dropped; §3.5: a NACK notifies the
// PSN of the lost packet.
func TestMPBitmapOverflow(t *testing.T) {
	q := newMPTest(t, nil)
	packets := q.peerWrite(0, 0, pattern(5, 70*mpMTU))
	if v := q.arrive1(packets[63]); v != Place {
		t.Fatalf("the last slot: %v", v)
	}
	q.wantReplies("the last slot", "ack 63 head 0")
	if v := q.arrive1(packets[64]); v != Drop {
		t.Fatalf("beyond the bitmap: %v", v)
	}
	q.wantReplies("overflow", "NAK_PSN_SEQUENCE 0 refused 64 head 0")
	q.arrive(packets[0])
	q.wantReplies("the head moves by one", "ack 0 head 1")
	q.arrive(packets[64], packets[65])
	q.wantReplies("and one more fits", "ack 64 head 1", "NAK_PSN_SEQUENCE 1 refused 65 head 1")
	q.wantBytes("a refused packet leaves memory alone", q.exposed, 65*mpMTU, make([]byte, mpMTU))
	if got := q.mp.Counters().OutOfSequence; got != 2 {
		t.Errorf("%d packets counted as out of sequence, want 2", got)
	}
}
