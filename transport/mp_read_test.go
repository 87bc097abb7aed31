package transport

import (
	"encoding/binary"
	"testing"

	"github.com/braid-rdma/braid/wire"
)

// READ and atomics over MP: requests and responses are messages of the two
// streams, executed and completed at their heads.

func (q *mpTest) read(offset, length int, flags ...SendFlags) uint64 {
	q.t.Helper()
	wr := SendWR{Op: OpRead, SGEs: []SGE{q.local.span(offset, length)}, RemoteAddr: 0x5000, RKey: 0x99}
	for _, f := range flags {
		wr.Flags |= f
	}
	return q.post(wr)
}

func (q *mpTest) fetchAdd(offset int) uint64 {
	q.t.Helper()
	return q.post(SendWR{Op: OpFetchAdd, SGEs: []SGE{q.local.span(offset, 8)}, RemoteAddr: 0x5000, RKey: 0x99, SwapAdd: 1})
}

// peerReadResponse makes the peer's response to READ number msn.
func (q *mpTest) peerReadResponse(first, msn int, content []byte) []peerPacket {
	all := peerMessage(OpWrite, first, msn, content)
	for i := range all {
		all[i].Opcode = wire.MPBit | readSegments.opcode(uint32(i), uint32(len(all)))
	}
	return all
}

func (q *mpTest) peerAtomicResponse(n, msn int, value uint64) peerPacket {
	return peerPacket{Packet: Packet{Headers: wire.Headers{
		BTH: wire.BTH{Opcode: wire.MPBit | wire.AtomicAcknowledge, PSN: peerFirst.Add(n)},
		MP:  wire.MPData{MSN: uint32(msn)}, AtomicAck: wire.AtomicAckETH{Original: value},
	}}}
}

// A READ completes when its whole response has arrived, whatever the order,
// and not by the acknowledgement of its request.
func TestMPReadCompletesByItsResponse(t *testing.T) {
	q := newMPTest(t, nil)
	a, b := q.read(0, 700), q.read(1024, 300)
	sent := q.wantSent("two requests", 0, 1)
	for i, p := range sent {
		if p.Opcode != wire.MPBit|wire.ReadRequest || p.MP.MSN != uint32(i) || p.Length != 0 {
			t.Fatalf("request %d: %+v", i, p)
		}
	}
	q.acks(0, 1)
	q.wantDone("requests delivered, not answered")
	ra, rb := q.peerReadResponse(0, 0, pattern(1, 700)), q.peerReadResponse(3, 1, pattern(2, 300))
	q.arrive(rb[1], rb[0], ra[2], ra[0])
	q.wantDone("the head is missing")
	q.arrive(ra[1])
	q.wantDone("in order", a, b)
	q.wantBytes("first", q.local, 0, pattern(1, 700))
	q.wantBytes("second", q.local, 1024, pattern(2, 300))
}

// A response that arrives before the acknowledgement of its request is as good.
func TestMPReadResponseBeforeAck(t *testing.T) {
	q := newMPTest(t, nil)
	id := q.read(0, 10)
	q.wantSent("request", 0)
	q.arrive(q.peerReadResponse(0, 0, pattern(1, 10))...)
	q.wantDone("answered", id)
	q.wantReplies("the response is acknowledged", "ack 0 head 1")
	q.ack(0)
	q.wantDone("only once")
}

// Initiator depth: no more requests on their way than agreed.
func TestMPInitiatorDepth(t *testing.T) {
	q := newMPTest(t, func(o *MPOptions) { o.InitialWindow = 16 })
	for range 6 {
		q.read(0, 10)
	}
	q.wantSent("four may be outstanding", 0, 1, 2, 3)
	q.acks(0, 1, 2, 3)
	q.wantIdle("delivered is not answered")
	q.arrive(q.peerReadResponse(0, 0, pattern(1, 10))...)
	q.advance(mpRTT)
	q.wantRepliesIgnoringAcks("one is answered, one may go", "MP_READ_REQUEST")
}

// wantRepliesIgnoringAcks is wantReplies without the acknowledgements.
func (q *mpTest) wantRepliesIgnoringAcks(why string, want ...string) []Packet {
	q.t.Helper()
	kept := q.unwanted[:0]
	for _, p := range q.unwanted {
		if acknowledges := p.Opcode == wire.MPBit|wire.Acknowledge || p.Opcode == wire.MPAcknowledgeBatch; !acknowledges || !p.AETH.Syndrome.IsAck() {
			kept = append(kept, p)
		}
	}
	q.unwanted = kept
	return q.wantReplies(why, want...)
}

// Fence, and synchronise for READs, wait for the answers.
func TestMPFenceWaitsForReads(t *testing.T) {
	for _, flag := range []SendFlags{Fence, Synchronise} {
		q := newMPTest(t, func(o *MPOptions) { o.EarlyRetransmit = 1e9 })
		a := q.read(0, 10)
		b := q.write(1, flag)
		q.wantSent("only the READ", 0)
		q.ack(0)
		q.advance(mpRTT)
		q.wantIdle("the READ is delivered, not answered")
		q.arrive(q.peerReadResponse(0, 0, pattern(1, 10))...)
		q.advance(mpRTT)
		q.wantRepliesIgnoringAcks("the READ is answered", "MP_WRITE_ONLY")
		q.ack(1)
		q.wantDone("in order", a, b)
	}
}

// The responder executes a READ when the head reaches it, so that it sees
// every earlier WRITE, and not before.
func TestMPReadSeesEarlierWrites(t *testing.T) {
	q := newMPTest(t, nil)
	write := q.peerWrite(0, 0, pattern(3, 300))
	q.arrive(q.peerRequest(wire.ReadRequest, 2, 0, 0, 300))
	q.arrive(write[1])
	q.wantReplies("not at the head", "ack 2 head 0", "ack 1 head 0")
	q.arrive(write[0])
	var got []byte
	for _, p := range q.wantRepliesIgnoringAcks("executed", "MP_READ_RESPONSE_FIRST", "MP_READ_RESPONSE_LAST") {
		for _, s := range p.Spans {
			got = append(got, s.Bytes()...)
		}
	}
	if string(got) != string(pattern(3, 300)) {
		t.Error("the READ did not see the WRITE before it")
	}
	q.arrive(q.peerRequest(wire.ReadRequest, 2, 0, 0, 300))
	q.wantReplies("a duplicate request is not executed again", "ack 2 head 3")
}

// Responses are data like any other: lost, they are sent again.
func TestMPLostResponseGoesAgain(t *testing.T) {
	q := quiet(t, func(*MPOptions, *Attr) {})
	q.arrive(q.peerRequest(wire.ReadRequest, 0, 0, 0, 10))
	q.wantRepliesIgnoringAcks("response", "MP_READ_RESPONSE_ONLY")
	q.advanceToTimer()
	wantAgain(t, true, q.wantReplies("again", "MP_READ_RESPONSE_ONLY"))
	q.ack(mpResponse(0))
	if q.mp.recv.owed.unfinished != 0 || q.mp.Timeout() != Never {
		t.Error("the response is still owed")
	}
}

// An atomic is executed once, when the head reaches it, however often its
// request arrives.
func TestMPAtomicIsExecutedOnce(t *testing.T) {
	q := newMPTest(t, nil)
	binary.NativeEndian.PutUint64(q.exposed.Bytes[64:], 37)
	add := q.peerRequest(wire.FetchAdd, 1, 0, 64, 8)
	q.arrive(add, add)
	if q.mem.atomics != 0 {
		t.Fatal("executed before the head reached it")
	}
	q.arrive(q.peerWrite(0, 0, pattern(1, 8))...)
	q.arrive(add, add)
	if got := binary.NativeEndian.Uint64(q.exposed.Bytes[64:]); got != 42 || q.mem.atomics != 1 {
		t.Fatalf("value %d after %d operations, want 42 after one", got, q.mem.atomics)
	}
	sent := q.wantRepliesIgnoringAcks("one response", "MP_ATOMIC_ACKNOWLEDGE")
	if sent[0].AtomicAck.Original != 37 {
		t.Errorf("answered %d, want the value before", sent[0].AtomicAck.Original)
	}
}

// The requester stores the answer of an atomic, once.
func TestMPAtomicCompletesByItsAnswer(t *testing.T) {
	q := newMPTest(t, nil)
	a, b := q.fetchAdd(0), q.fetchAdd(8)
	q.wantSent("requests", 0, 1)
	q.arrive(q.peerAtomicResponse(1, 1, 77))
	q.wantDone("the first answer is missing")
	q.arrive(q.peerAtomicResponse(0, 0, 66), q.peerAtomicResponse(0, 0, 99))
	q.wantDone("in order", a, b)
	if x, y := binary.NativeEndian.Uint64(q.local.Bytes), binary.NativeEndian.Uint64(q.local.Bytes[8:]); x != 66 || y != 77 {
		t.Errorf("stored %d and %d", x, y)
	}
}
