package transport

import (
	"errors"
	"testing"

	"github.com/braid-rdma/braid/wire"
)

// What the peer can do wrong, what it refuses, and how a connection ends.

// An acknowledgement of what was never sent is ignored and counted.
func TestMPForgedAcksAreIgnored(t *testing.T) {
	for _, c := range []struct {
		name string
		edit ackEdit
	}{
		{"SACK of a packet never sent", func(a *wire.MPAck) { a.SACK = mpFirst.Add(10) }},
		{"SACK of the next packet", func(a *wire.MPAck) { a.SACK = mpFirst.Add(4) }},
		{"AACK beyond snd_nxt", func(a *wire.MPAck) { a.AACK = mpFirst.Add(5) }},
		{"a path that does not exist", func(a *wire.MPAck) { a.Path = 16 }},
	} {
		q := newMPTest(t, nil)
		q.write(40)
		q.wantSent("IW", 0, 1, 2, 3)
		a := q.ackOf(0)
		c.edit(&a)
		if v := q.handle(a); v != Drop || q.mp.Counters().Stale+q.mp.Counters().Malformed != 1 {
			t.Errorf("%s: verdict %v, counters %+v", c.name, v, *q.mp.Counters())
		}
		q.wantIdle(c.name)
		q.wantWindow(c.name, 4)
		q.wantDone(c.name)
	}
}

// A batch that begins with what was sent and goes beyond is believed as far as it can be.
func TestMPForgedBatch(t *testing.T) {
	q := newMPTest(t, nil)
	q.write(40)
	b := q.batchOf([]int{0, 1, 2, 3}, func(int) bool { return false })
	b.Received = ^uint64(0)
	q.ackBatch(b)
	if q.mp.out[requests].nxt-q.mp.out[requests].una > 8 || q.mp.Counters().Stale == 0 {
		t.Error("packets that were never sent were acknowledged")
	}
}

// Old and repeated acknowledgements complete nothing twice and take nothing back.
func TestMPStaleAcks(t *testing.T) {
	q := newMPTest(t, nil)
	a, b := q.write(2), q.write(1)
	q.wantSent("IW", 0, 1, 2)
	old := q.ackOf(0)
	q.ack(2)
	q.wantDone("the second waits for the first")
	q.acks(0, 1)
	q.wantDone("in order", a, b)
	una := q.mp.out[requests].una
	for range 5 {
		q.handle(old)
		q.handle(q.ackOf(2))
	}
	q.wantDone("nothing twice")
	if q.mp.out[requests].una != una || q.mp.loss.inFlight() != 0 {
		t.Error("a stale ACK moved the window")
	}
	q.write(40)
	if n := len(q.unwanted); n > int(q.mp.gate.control.Window()) {
		t.Errorf("%d packets after stale ACKs, cwnd is %v", n, q.mp.gate.control.Window())
	}
}

// The peer's refusals become the statuses of libibverbs; what follows is flushed.
func TestMPRefusalStatuses(t *testing.T) {
	for y, want := range map[wire.Syndrome]Status{
		wire.NakInvalidRequest: RemInvReqErr, wire.NakRemoteAccess: RemAccessErr, wire.NakRemoteOperational: RemOpErr,
	} {
		q := newMPTest(t, nil)
		q.write(1)
		q.write(1)
		q.write(1)
		q.forget()
		q.ack(0)
		q.nak(y, 1, 1)
		got := q.completions()
		if len(got) != 3 || got[0].Status != Success || got[1].Status != want || got[2].Status != WRFlushErr || q.mp.State() != Err {
			t.Fatalf("%v: %+v in state %v", y, got, q.mp.State())
		}
		if q.mp.Timeout() != Never {
			t.Error("a timer runs in the error state")
		}
		q.write(1)
		if got := q.completions(); len(got) != 1 || got[0].Status != WRFlushErr {
			t.Errorf("a post in the error state: %+v", got)
		}
	}
}

// A refusal has its status for the request that it names. A READ before that, whose response the peer has given up
// sending, fails by another one.
func TestMPRefusalSparesTheReadBefore(t *testing.T) {
	q := newMPTest(t, nil)
	read := q.read(0, 100)
	q.ack(0)
	write := q.write(1)
	q.nak(wire.NakRemoteAccess, 1, 1)
	got := q.completions()
	if len(got) != 2 || got[0].WRID != read || got[0].Status != RetryExcErr || got[1].WRID != write || got[1].Status != WRFlushErr {
		t.Errorf("completed by %+v", got)
	}
}

// A refusal is believed only for what is outstanding.
func TestMPStaleRefusalIsIgnored(t *testing.T) {
	q := newMPTest(t, nil)
	q.write(2)
	q.acks(0, 1)
	q.nak(wire.NakRemoteAccess, 0, 0)
	if q.mp.State() != RTS {
		t.Fatal("a refusal of an acknowledged packet ended the connection")
	}
}

// A peer that cannot send a response again refuses the READ, for each
// acknowledgement that comes meanwhile. If the response is here it is told so. Only
// when round trips pass without another word has it ended the connection.
func TestMPRefusalsOfWhatIsComplete(t *testing.T) {
	q := quiet(t, func(*MPOptions, *Attr) {})
	q.read(0, 100)
	q.wantSent("request", 0)
	q.ack(0)
	q.arrive(q.peerReadResponse(0, 0, pattern(1, 100))...)
	if got := q.completions(); len(got) != 1 || got[0].Status != Success {
		t.Fatalf("the READ completed by %+v", got)
	}
	for range 10 * maxRefusals {
		q.nak(wire.NakRemoteAccess, 0, 0)
	}
	if q.mp.State() != RTS {
		t.Fatal("the refusals of one round trip ended the connection")
	}
	q.forget()
	trips := 0
	for ; q.mp.State() == RTS && trips < 100; trips++ {
		q.advance(q.mp.rtt.smoothed())
		q.nak(wire.NakRemoteAccess, 0, 0)
	}
	if trips != maxRefusals-1 {
		t.Errorf("it ended after %d round trips, want %d", trips, maxRefusals-1)
	}
}

// badRequest is a request that must be refused, with its syndrome.
type badRequest struct {
	packet peerPacket
	nak    wire.Syndrome
}

// badRequests makes one of each kind, all with the number n.
func (q *mpTest) badRequests(n int) map[string]badRequest {
	write := func(edit func(*peerPacket)) peerPacket {
		p := q.peerWrite(n, 0, pattern(1, 100))[0]
		edit(&p)
		return p
	}
	readOnly := q.mem.register(mpPD, 4096, RemoteRead)
	foreign := q.mem.register(mpPD+1, 4096, RemoteWrite)
	return map[string]badRequest{
		"unknown key":      {write(func(p *peerPacket) { p.RETH.RKey = 0xbad }), wire.NakRemoteAccess},
		"no right":         {write(func(p *peerPacket) { p.RETH.RKey, p.RETH.VA = readOnly.RKey, readOnly.Base }), wire.NakRemoteAccess},
		"another domain":   {write(func(p *peerPacket) { p.RETH.RKey, p.RETH.VA = foreign.RKey, foreign.Base }), wire.NakRemoteAccess},
		"one byte beyond":  {write(func(p *peerPacket) { p.RETH.VA = q.exposed.Base + q.exposed.Length - 99 }), wire.NakRemoteAccess},
		"one byte before":  {write(func(p *peerPacket) { p.RETH.VA = q.exposed.Base - 1 }), wire.NakRemoteAccess},
		"address overflow": {write(func(p *peerPacket) { p.RETH.VA = ^uint64(0) - 50 }), wire.NakRemoteAccess},
		"longer than told": {write(func(p *peerPacket) { p.RETH.Length = 50 }), wire.NakInvalidRequest},
		"ONLY with offset": {write(func(p *peerPacket) { p.MP.Offset = 1 }), wire.NakInvalidRequest},
		"a short FIRST":    {write(func(p *peerPacket) { p.Opcode = wire.MPBit | wire.WriteFirst }), wire.NakInvalidRequest},
	}
}

// At the head of the stream a bad request ends the connection with its NAK and
// no byte moved; ahead of the head it is dropped in silence, for what comes
// before it is not known yet.
func TestMPBadRequestsEndAtTheHead(t *testing.T) {
	for name := range newMPTest(t, nil).badRequests(0) {
		t.Run(name, func(t *testing.T) {
			q := newMPTest(t, nil)
			bad := q.badRequests(1)[name]
			if v := q.arrive1(bad.packet); v != Drop {
				t.Fatalf("ahead of the head: verdict %v", v)
			}
			q.wantReplies("no answer ahead of the head")
			q.arrive(q.peerWrite(0, 4096, pattern(2, 10))...)
			q.wantReplies("the connection lives", "ack 0 head 1")
			if v := q.arrive1(bad.packet); v != Drop || q.mp.State() != Err {
				t.Fatalf("at the head: verdict %v, state %v", v, q.mp.State())
			}
			refusal := bad.nak.String() + " 1 refused 1 head 1"
			q.wantReplies("the refusal", refusal)
			q.arrive(bad.packet)
			q.wantReplies("repeated, for it may be lost", refusal)
			q.wantBytes("memory is unchanged", q.exposed, 0, make([]byte, 4096))
		})
	}
}

// A message longer than the receive that it meets.
func TestMPReceiveTooShort(t *testing.T) {
	q := newMPTest(t, nil)
	q.recv(1, 0, 300)
	q.recv(2, 4096, 300)
	packets := q.peerSend(0, 0, pattern(1, 600))
	q.arrive(packets[2])
	q.wantReplies("ahead of the head nothing is said")
	q.arrive(packets[0], packets[1])
	got := q.completions()
	if len(got) != 2 || got[0].WRID != 1 || got[0].Status != LocLenErr || got[1].Status != WRFlushErr {
		t.Fatalf("completions %+v", got)
	}
	q.wantRepliesIgnoringAcks("the peer is told", "NAK_INVALID_REQUEST 1 refused 1 head 1")
	q.wantBytes("nothing beyond the receive", q.local, 300, make([]byte, 300))
}

// What was asked for before the offending request is still answered.
func TestMPResponsesGoBeforeTheRefusal(t *testing.T) {
	q := newMPTest(t, nil)
	q.arrive(q.peerRequest(wire.ReadRequest, 0, 0, 0, 10))
	q.wantRepliesIgnoringAcks("response", "MP_READ_RESPONSE_ONLY")
	q.arrive(q.badRequests(1)["unknown key"].packet)
	q.wantRepliesIgnoringAcks("the response is not delivered yet")
	q.ack(mpResponse(0))
	q.wantRepliesIgnoringAcks("now the refusal", "NAK_REMOTE_ACCESS 1 refused 1 head 1")
	q.wantEvents("the application is told", EventQPAccessErr)
}

// Posts that must fail do so at once and without side effects.
func TestMPPostsThatFail(t *testing.T) {
	q := newMPTest(t, nil)
	fresh, err := NewMP(q.mp.cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := fresh.PostSend(q.now, &SendWR{Op: OpWrite}); !errors.Is(err, ErrState) {
		t.Errorf("post in RESET: %v", err)
	}
	many := make([]Span, 5)
	for i := range many {
		many[i] = q.local.span(0, 1)
	}
	for want, wr := range map[error]SendWR{
		ErrTooManySGE:  {Op: OpWrite, SGEs: many},
		ErrOperation:   {Op: OpRecv},
		ErrAtomicShape: {Op: OpFetchAdd, SGEs: []SGE{q.local.span(0, 4)}},
		ErrInline:      {Op: OpSend, Inline: make([]byte, 65)},
	} {
		if err := q.mp.PostSend(q.now, &wr); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	q.wantIdle("no side effect")
	for range q.mp.cfg.SendDepth {
		q.write(1)
	}
	if err := q.mp.PostSend(q.now, &SendWR{Op: OpWrite}); !errors.Is(err, ErrQueueFull) {
		t.Errorf("post on a full queue: %v", err)
	}
}

// The send queue drains: nothing new starts, what is on its way completes, and
// the event comes once per stay.
func TestMPSendQueueDrains(t *testing.T) {
	q := newMPTest(t, nil)
	for range 2 {
		first := q.number(q.mp.out[requests].nxt.psn())
		a := q.write(1)
		q.wantSent("before", first)
		if err := q.mp.Modify(q.now, SQD, nil); err != nil {
			t.Fatal(err)
		}
		b := q.write(1)
		q.wantIdle("nothing starts in SQD")
		q.wantEvents("one is on its way")
		q.ack(first)
		q.wantDone("it completes", a)
		q.wantEvents("drained", EventSQDrained)
		if err := q.mp.Modify(q.now, RTS, nil); err != nil {
			t.Fatal(err)
		}
		q.advance(mpRTT)
		q.wantSent("sending goes on", first+1)
		q.ack(first + 1)
		q.wantDone("the rest", b)
	}
}
