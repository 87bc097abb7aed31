package transport

import (
	"slices"
	"testing"

	"github.com/braid-rdma/braid/wire"
)

// The receiver by itself: no queue pair, no sender, no clock.

// receiverTest is a receiver with memory, receives and requests that await responses.
type receiverTest struct {
	*testing.T
	mpReceiver
	mem    *testMemory
	target *Region
	reads  []sendWQE // the READs and atomics of this side, oldest first
}

const (
	receiverFirst = wire.PSN(0xfffffe) // the numbers wrap soon
	receiverSlots = 64
	receiverMTU   = 256
)

func newReceiverTest(t *testing.T) *receiverTest {
	r := &receiverTest{T: t, mem: newTestMemory()}
	r.target = r.mem.register(1, 1<<16, LocalWrite|RemoteWrite|RemoteRead|RemoteAtomic)
	own, err := NewReceiveQueue(16, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	r.mpReceiver = mpReceiver{
		memory: r.mem, pd: 1, receives: &receives{own: own}, awaiting: r, count: &Counters{}, mtu: receiverMTU, served: 1,
	}
	r.start(receiverFirst, receiverSlots)
	return r
}

// awaited implements awaitedRequests.
func (r *receiverTest) awaited(msn uint32) (*sendWQE, bool) {
	if int(msn) >= len(r.reads) || r.reads[msn].done {
		return nil, false
	}
	return &r.reads[msn], msn == 0 || r.reads[msn-1].done
}

// post offers receives of 1 KiB with the given IDs.
func (r *receiverTest) post(ids ...uint64) {
	r.Helper()
	for _, id := range ids {
		if err := r.receives.own.Post(&RecvWR{ID: id, SGEs: []SGE{r.target.span(int(id)*1024, 1024)}}); err != nil {
			r.Fatal(err)
		}
	}
}

// packet is packet n of a stream.
func (r *receiverTest) packet(n int, op wire.Opcode, length int) *Packet {
	p := &Packet{Length: length}
	p.Opcode, p.PSN = wire.MPBit|op, receiverFirst.Add(n)
	p.RETH = wire.RETH{VA: r.target.Base, RKey: r.target.RKey, Length: uint32(length)}
	return p
}

// send is packet n, a SEND of one packet: message msn that consumes a receive.
func (r *receiverTest) send(n int, msn uint32, length int) *Packet {
	p := r.packet(n, wire.SendOnly, length)
	p.MP.MSN = msn
	return p
}

// take hands over a packet as a queue pair does. It returns the IDs of the receives
// and requests that this completes, and the delivery that ends the connection.
func (r *receiverTest) take(p *Packet) (a arrival, completed []uint64, end delivery) {
	r.Helper()
	id := streamOf(p.Opcode.Base())
	if a = r.arrive(id, p); a.fate != arrivalTaken {
		return a, nil, delivery{}
	}
	var d delivery
	for more := r.accept(id, a.at, p, &d); more; more = r.advance(id, &d) {
		switch d.what {
		case deliveredReceive:
			completed = append(completed, d.completion.WRID)
		case deliveredResponse:
			i := slices.IndexFunc(r.reads, func(w sendWQE) bool { return !w.done })
			r.reads[i].done = true
			completed = append(completed, r.reads[i].ID)
		default:
			return a, completed, d
		}
	}
	return a, completed, delivery{}
}

// wantTaken checks that a packet is taken and which messages that completes.
func (r *receiverTest) wantTaken(why string, p *Packet, completed ...uint64) {
	r.Helper()
	a, got, last := r.take(p)
	if a.fate != arrivalTaken || last.what != deliveredNothing {
		r.Fatalf("%s: fate %d, delivery %d; want it taken", why, a.fate, last.what)
	}
	if !slices.Equal(got, completed) {
		r.Errorf("%s: completed %v, want %v", why, got, completed)
	}
}

// wantFate checks what becomes of a packet that is not taken.
func (r *receiverTest) wantFate(why string, p *Packet, want packetFate, y wire.Syndrome) arrival {
	r.Helper()
	a, _, _ := r.take(p)
	if a.fate != want || a.syndrome != y {
		r.Errorf("%s: fate %d syndrome %#x, want %d and %#x", why, a.fate, a.syndrome, want, y)
	}
	return a
}

// Messages complete in their order, whatever the order of arrival, and each
// payload goes to the receive of its own number at once (§3.4).
func TestReceiverDeliversInOrder(t *testing.T) {
	r := newReceiverTest(t)
	r.post(10, 11, 12, 13)
	r.wantTaken("ahead by two", r.send(2, 2, 100))
	r.wantTaken("ahead by three", r.send(3, 3, 0))
	p := r.send(1, 1, 256)
	r.wantTaken("ahead by one", p)
	if want := r.target.span(11*1024, 256); !slices.Equal(p.Spans, []Span{want}) {
		t.Errorf("payload goes to %v, want %v", p.Spans, want)
	}
	r.wantTaken("the head", r.send(0, 0, 1), 10, 11, 12, 13)
	if head := r.in[requests].nxt; head != firstSeq(receiverFirst)+4 || r.in[requests].ahead != 0 || r.taken != 4 {
		t.Errorf("head %d, %d ahead, %d receives taken", head-firstSeq(receiverFirst), r.in[requests].ahead, r.taken)
	}
	if r.count.OOOAccepted != 3 || r.count.MaxOutOfOrder != 3 {
		t.Errorf("%d out of order, by %d at most; want 3 and 3", r.count.OOOAccepted, r.count.MaxOutOfOrder)
	}
	r.wantFate("a packet that was delivered", r.send(3, 3, 0), arrivalRepeated, 0)
}

// §3.3.2: the bitmap tracks L packets from the head on.
func TestReceiverWindow(t *testing.T) {
	r := newReceiverTest(t)
	last := r.packet(receiverSlots-1, wire.WriteOnly, 8)
	r.wantTaken("the last slot", last)
	r.wantFate("the same again", last, arrivalRepeated, 0)
	a := r.wantFate("beyond the bitmap", r.packet(receiverSlots, wire.WriteOnly, 8), arrivalNacked, wire.NakPSNSequence)
	if first := firstSeq(receiverFirst); r.named(requests, a) != first || a.at != first+receiverSlots {
		t.Errorf("the NAK names %d and %d, want the head and the packet", r.named(requests, a), a.at)
	}
	r.wantTaken("the head moves by one", r.packet(0, wire.WriteOnly, 8))
	r.wantTaken("and so does the bitmap", r.packet(receiverSlots, wire.WriteOnly, 8))
	if r.count.OutOfSequence != 1 || r.count.DuplicateRequest != 1 {
		t.Errorf("%d beyond the bitmap, %d duplicates; want one each", r.count.OutOfSequence, r.count.DuplicateRequest)
	}
}

// A synchronise operation that comes before earlier packets is dropped (§3.4).
func TestReceiverEarlySynchronise(t *testing.T) {
	r := newReceiverTest(t)
	p := r.packet(1, wire.WriteOnly, 8)
	p.MP.Sync = true
	r.wantFate("too early", p, arrivalNacked, wire.NakEarlySynchronise)
	r.wantTaken("what comes before it", r.packet(0, wire.WriteOnly, 8))
	r.wantTaken("in its turn", p)
}

// Without a receive the peer is asked to wait; at the head or not.
func TestReceiverWithoutReceive(t *testing.T) {
	r := newReceiverTest(t)
	r.rnrTimer = 7
	r.wantFate("the head", r.send(0, 0, 1), arrivalNacked, wire.RNRSyndrome(7))
	r.post(10)
	r.wantFate("the second message", r.send(1, 1, 1), arrivalNacked, wire.RNRSyndrome(7))
	r.wantTaken("the first", r.send(0, 0, 1), 10)
	r.wantFate("a number far ahead", r.send(1, 5000, 1), arrivalDropped, 0)
}

// A wrong key ends the connection at the head only, where what came before cannot
// explain it; but not even ahead of it may a peer try many.
func TestReceiverWrongKeys(t *testing.T) {
	wrong := func(r *receiverTest, n int, key wire.RKey) *Packet {
		p := r.packet(n, wire.WriteOnly, 8)
		p.RETH.RKey = key
		return p
	}
	r := newReceiverTest(t)
	r.wantFate("at the head", wrong(r, 0, 1), arrivalRefused, wire.NakRemoteAccess)

	r = newReceiverTest(t)
	for i := range maxWrongKeys {
		for range 3 {
			r.wantFate("ahead of it", wrong(r, 1, wire.RKey(i+1)), arrivalDropped, 0)
		}
	}
	r.wantFate("one key too many", wrong(r, 1, maxWrongKeys+1), arrivalRefused, wire.NakRemoteAccess)
	if want := uint64(3*maxWrongKeys + 1); r.count.AccessErrors != want {
		t.Errorf("%d access errors, want %d", r.count.AccessErrors, want)
	}
}

// A message that is longer than its receive fails that receive and is refused.
func TestReceiverMessageTooLong(t *testing.T) {
	r := newReceiverTest(t)
	r.post(10, 11)
	long := func(n int, msn uint32) *Packet {
		p := r.send(n, msn, 1)
		p.Opcode, p.MP.Offset = wire.MPBit|wire.SendLast, 1024/receiverMTU
		return p
	}
	r.wantFate("ahead of the head", long(1, 0), arrivalDropped, 0)
	a := r.wantFate("at the head", long(0, 0), arrivalRefused, wire.NakInvalidRequest)
	if a.receive != 10 || a.status != LocLenErr || r.receives.own.Len() != 1 {
		t.Errorf("receive %d fails with %v, %d left", a.receive, a.status, r.receives.own.Len())
	}
}

// READs and atomics are executed when the head reaches them, once, and the
// responses owed are bounded by what was agreed on.
func TestReceiverOwesResponses(t *testing.T) {
	r := newReceiverTest(t)
	add := r.packet(1, wire.FetchAdd, 0)
	add.AtomicETH = wire.AtomicETH{VA: r.target.Base, RKey: r.target.RKey, SwapAdd: 5}
	r.wantTaken("ahead of the head", add)
	if r.mem.atomics != 0 {
		t.Fatal("an atomic was executed before what precedes it")
	}
	read := r.packet(0, wire.ReadRequest, 0)
	read.RETH.Length = 3*receiverMTU + 1
	r.wantTaken("the head", read)
	r.wantFate("the atomic again", add, arrivalRepeated, 0)
	if r.mem.atomics != 1 || r.owed.unfinished != 2 {
		t.Fatalf("%d atomics executed, %d responses owed; want 1 and 2", r.mem.atomics, r.owed.unfinished)
	}
	first, second := r.owed.waiting.pop(), r.owed.waiting.pop()
	if first.kind != outReadResponse || first.packets != 4 || second.kind != outAtomicResponse || second.request != firstSeq(receiverFirst)+1 {
		t.Errorf("responses %+v and %+v", first, second)
	}
	n := 2
	for ; r.owed.unfinished < 1+responsesAhead; n++ {
		r.wantTaken("one more", r.packet(n, wire.ReadRequest, 0))
	}
	if _, _, last := r.take(r.packet(n, wire.ReadRequest, 0)); last.what != deliveryRefused || last.syndrome != wire.NakInvalidRequest {
		t.Errorf("delivery %d with %#x of one too many", last.what, last.syndrome)
	}
	if head := r.in[requests].nxt; head != firstSeq(receiverFirst)+seq(n) {
		t.Errorf("the head is at %d, want it at the refused %d", head-firstSeq(receiverFirst), n)
	}
}

// Responses have numbers of their own, go to the memory of their request, and
// complete requests in the order of posting.
func TestReceiverTakesResponses(t *testing.T) {
	r := newReceiverTest(t)
	spans := []SGE{r.target.span(4096, 100)}
	r.reads = []sendWQE{
		{SendWR: SendWR{ID: 20, Op: OpRead, SGEs: spans}, length: 100},
		{SendWR: SendWR{ID: 21, Op: OpFetchAdd, SGEs: []SGE{r.target.span(0, 8)}}, length: 8},
	}
	atomic := r.packet(1, wire.AtomicAcknowledge, 0)
	atomic.MP.MSN, atomic.AtomicAck.Original = 1, 77
	r.wantTaken("the second response", atomic)
	read := r.packet(0, wire.ReadResponseOnly, 100)
	r.wantTaken("the first", read, 20, 21)
	if !slices.Equal(read.Spans, spans) || r.target.Bytes[0] == 0 && r.target.Bytes[7] == 0 {
		t.Errorf("data to %v, result % x", read.Spans, r.target.Bytes[:8])
	}
	r.wantFate("nothing is awaited", r.packet(2, wire.ReadResponseOnly, 100), arrivalDropped, 0)
	r.wantFate("nor anything malformed", r.packet(2, wire.ReadResponseOnly, receiverMTU+1), arrivalDropped, 0)

	r = newReceiverTest(t)
	r.reads = []sendWQE{{SendWR: SendWR{Op: OpRead, SGEs: spans}, length: 100}}
	if a := r.wantFate("too long", r.packet(0, wire.ReadResponseOnly, 101), arrivalFailed, 0); a.status != BadRespErr {
		t.Errorf("status %v, want %v", a.status, BadRespErr)
	}
	long := r.packet(0, wire.ReadResponseOnly, receiverMTU+1)
	if a := r.wantFate("longer than a packet may be", long, arrivalFailed, 0); a.status != BadRespErr {
		t.Errorf("status %v, want %v", a.status, BadRespErr)
	}
	r.wantFate("the same ahead of its turn", r.packet(1, wire.ReadResponseOnly, receiverMTU+1), arrivalDropped, 0)
	spans[0].Region.Invalid = true
	if a := r.wantFate("its memory is gone", r.packet(0, wire.ReadResponseOnly, 100), arrivalFailed, 0); a.status != LocProtErr {
		t.Errorf("status %v, want %v", a.status, LocProtErr)
	}
}
