package machine

import (
	"errors"
	"slices"
	"testing"

	"github.com/braid-rdma/braid/cm/mad"
	"github.com/braid-rdma/braid/wire"
)

func TestRefusals(t *testing.T) {
	tests := []struct {
		name string
		req  mad.REQ
		want string
	}{
		{"nobody listens", mad.REQ{Service: service + 1, QPN: 0x11}, "REJ 8"},
		{"unreliable connection", mad.REQ{Service: service, QPN: 0x11, Transport: mad.TransportUC}, "REJ 9"},
	}
	for _, test := range tests {
		p := newPair(t)
		_, err := p.a.m.Connect(p.now, p.b.addr, test.req)
		p.must(err)
		p.b.take(p.a.sent("asks", "REQ"))
		p.a.take(p.b.sent(test.name, test.want))
		p.a.happened(test.name, Rejected)
		p.b.happened("the program is not asked")
		p.empty()
	}
}

// TestProgramRefuses: the program's words reach the peer, from either side.
func TestProgramRefuses(t *testing.T) {
	rej := mad.REJ{Reason: mad.ReasonConsumer, PrivateData: [148]byte{'n', 'o'}}
	check := func(e *end) {
		t.Helper()
		if got := e.last.REJ; got.Reason != mad.ReasonConsumer || string(got.PrivateData[:2]) != "no" {
			t.Errorf("%+v", got)
		}
	}
	p := newPair(t)
	p.a.connect(p.b, 0x11)
	p.b.take(p.a.sent("asks", "REQ"))
	p.b.happened("asked", Requested)
	p.must(p.b.m.Reject(p.now, p.b.last.ID, rej))
	p.a.take(p.b.sent("refuses", "REJ 28"))
	p.a.happened("refused", Rejected)
	check(p.a)
	p.empty()

	p.a.connect(p.b, 0x12)
	p.b.take(p.a.sent("asks", "REQ"))
	p.b.happened("asked", Requested)
	p.must(p.b.m.Accept(p.now, p.b.last.ID, mad.REP{QPN: 0x22}, false))
	p.a.take(p.b.sent("grants", "REP"))
	p.a.happened("granted", Replied)
	p.must(p.a.m.Reject(p.now, p.a.last.ID, rej))
	p.b.take(p.a.sent("refuses", "REJ 28"))
	p.b.happened("refused", Rejected)
	check(p.b)
	p.empty()
}

// TestWithdrawal: who gives up before any answer is understood all the same,
// and a grant that crosses on the way is refused.
func TestWithdrawal(t *testing.T) {
	p := newPair(t)
	id := p.a.connect(p.b, 0x11)
	p.b.take(p.a.sent("asks", "REQ"))
	p.b.happened("asked", Requested)
	p.must(p.b.m.Accept(p.now, p.b.last.ID, mad.REP{QPN: 0x22}, false))
	rep := p.b.sent("grants", "REP")
	p.must(p.a.m.Reject(p.now, id, mad.REJ{Reason: mad.ReasonConsumer}))
	lost := p.a.sent("withdraws", "REJ 4")
	p.a.take(rep)
	p.b.take(p.a.sent("nobody asks any longer", "REJ 6"))
	p.b.happened("refused", Rejected)
	p.b.take(lost)
	p.b.happened("over already")
	p.empty()

	id = p.a.connect(p.b, 0x11)
	p.b.take(p.a.sent("asks", "REQ"))
	p.b.happened("asked", Requested)
	for _, forged := range []mad.REJ{
		{LocalID: id, Reason: mad.ReasonTimeout, InfoLen: 8, Info: [72]byte{7: 99}},
		{LocalID: id, Reason: mad.ReasonTimeout},
		{LocalID: id, Reason: mad.ReasonConsumer, InfoLen: 8, Info: [72]byte{7: 1}},
	} {
		p.b.takeFrom(p.a.addr, mad.Append(nil, &forged, 1))
		p.b.happened("not the words of the adapter that asked")
	}
	p.must(p.a.m.Reject(p.now, id, mad.REJ{}))
	p.b.take(p.a.sent("withdraws", "REJ 4"))
	p.b.happened("withdrawn", Rejected)
	p.empty()
}

// TestManyAsk: who asks for much at once repeats itself less often, so as not to be the flood.
func TestManyAsk(t *testing.T) {
	p := newPair(t)
	sent := func(requests int) int {
		for i := range requests {
			p.a.connect(p.b, wire.QPN(0x100+i))
		}
		p.advance(700 * Millisecond)
		n := 0
		for _, _, ok := p.a.m.PollSend(); ok; _, _, ok = p.a.m.PollSend() {
			n++
		}
		p.advance(20 * Second)
		for _, _, ok := p.a.m.PollSend(); ok; _, _, ok = p.a.m.PollSend() {
		}
		return n / requests
	}
	if few, many := sent(1), sent(100); few < 20 || many > 5 || p.a.m.asking != 0 {
		t.Errorf("one is sent %d times in 0.7 s, a hundred %d times each; %d ask at the end", few, many, p.a.m.asking)
	}
}

func TestSilentPeer(t *testing.T) {
	p := newPair(t)
	p.a.connect(p.b, 0x11)
	p.advance(20 * Second)
	for n := 0; ; n++ {
		_, b, ok := p.a.m.PollSend()
		if !ok {
			t.Fatalf("gave up without a word after %d requests", n)
		}
		if describe(b) == "REJ 4" {
			if n < 90 || n > 130 {
				t.Errorf("asked %d times in 15 s", n)
			}
			break
		}
	}
	p.a.happened("nobody is there", TimedOut)
	if p.a.last.Responded {
		t.Error("claims that a silent peer has responded")
	}
	p.empty()
}

// TestHalfOpenIsFreed: peers that die in the middle cost neither side more than
// time.
func TestHalfOpenIsFreed(t *testing.T) {
	p := newPair(t)
	p.a.connect(p.b, 0x11)
	p.b.take(p.a.sent("asks", "REQ"))
	p.b.happened("asked", Requested)
	p.must(p.b.m.Accept(p.now, p.b.last.ID, mad.REP{}, false))
	p.b.sent("grants", "REP")
	p.advance(31 * Second)
	p.b.sent("as much as an unproven peer may get", "REP", "REJ 4")
	p.b.happened("peer died", TimedOut)
	if p.b.m.HalfOpen() != 0 || p.b.m.Len() != 0 {
		t.Errorf("%d half open", p.b.m.HalfOpen())
	}

	p = newPair(t)
	p.a.connect(p.b, 0x11)
	p.b.take(p.a.sent("asks", "REQ"))
	p.b.happened("asked", Requested)
	p.advance(31 * Second)
	p.b.sent("the program does not answer", "REJ 4")
	p.b.happened("nor will it be allowed to", TimedOut)

	p = newPair(t)
	p.a.connect(p.b, 0x11)
	p.b.take(p.a.sent("asks", "REQ"))
	p.b.happened("asked", Requested)
	p.must(p.b.m.Accept(p.now, p.b.last.ID, mad.REP{}, false))
	p.a.take(p.b.sent("grants", "REP"))
	p.a.happened("granted", Replied)
	p.advance(31 * Second)
	p.a.sent("the program does not answer", "REJ 4")
	p.a.happened("nor will it be allowed to", TimedOut)
}

// TestPeerDies: a farewell to a peer that is gone ends all the same.
func TestPeerDies(t *testing.T) {
	p := newPair(t)
	p.establish(false)
	p.must(p.a.m.Disconnect(p.now, p.a.last.ID))
	p.advance(7 * Second)
	p.a.happened("through, without an answer", Closed)
	if p.a.m.Len() != 0 {
		t.Error("something is left of the connection")
	}
	// The peer comes back without its memory.
	p.b.m = p.newEnd(2).m
	p.must(p.b.m.Listen(service, 4))
	p.a.sent("in vain", slices.Repeat([]string{"DREQ"}, 13)...)
	p.establish(false)
}

// TestStale: a peer that asks anew from the queue pair of a connection has lost
// that connection; but who asks must have proven to be that peer.
func TestStale(t *testing.T) {
	p := newPair(t)
	p.establish(false)
	p.a.m = p.newEnd(9).m // restarted at the same address
	p.a.connect(p.b, 0x11)
	p.b.take(p.a.sent("asks", "REQ"))
	p.b.happened("the old connection lives: anybody can have sent that", Requested)
	p.must(p.b.m.Accept(p.now, p.b.last.ID, mad.REP{QPN: 0x23}, false))
	p.a.take(p.b.sent("grants", "REP"))
	p.a.happened("granted", Replied)
	p.must(p.a.m.Ready(p.now, p.a.last.ID, false))
	p.b.take(p.a.sent("is ready", "RTU"))
	e, _ := p.b.m.PollEvent()
	if e.Kind != Disconnected || !e.Stale {
		t.Errorf("%v, stale %v, want that the old connection is over", e.Kind, e.Stale)
	}
	p.b.happened("the new one is up", Established)

	// The same, seen from the side that asks: the grant comes from a queue pair
	// that is held.
	p = newPair(t)
	p.establish(false)
	p.b.m = p.newEnd(9).m
	p.must(p.b.m.Listen(service, 4))
	p.a.connect(p.b, 0x12)
	p.b.take(p.a.sent("asks", "REQ"))
	p.b.happened("asked", Requested)
	p.must(p.b.m.Accept(p.now, p.b.last.ID, mad.REP{QPN: 0x22}, false))
	p.a.take(p.b.sent("grants", "REP"))
	p.a.happened("both are over", Rejected, Disconnected)
	p.b.take(p.a.sent("refuses", "REJ 10"))
	p.b.happened("refused", Rejected)
}

// TestNumberOfTimeWait: a peer may use the number of a queue pair again whose connection has ended
// in good order, though this side still remembers it.
func TestNumberOfTimeWait(t *testing.T) {
	p := newPair(t)
	p.establish(false)
	p.must(p.b.m.Disconnect(p.now, p.b.last.ID))
	p.a.take(p.b.sent("ends it", "DREQ"))
	p.a.happened("over", Disconnected)
	p.b.take(p.a.sent("agrees", "DREP"))
	p.b.happened("over", Closed)

	p.a.connect(p.b, 0x12)
	p.b.take(p.a.sent("asks", "REQ"))
	p.b.happened("asked", Requested)
	p.must(p.b.m.Accept(p.now, p.b.last.ID, mad.REP{QPN: 0x22}, false))
	p.a.take(p.b.sent("grants with the same number", "REP"))
	p.a.happened("granted", Replied)
	id := p.a.last.ID
	p.must(p.a.m.Ready(p.now, id, false))
	p.b.take(p.a.sent("is ready", "RTU"))
	p.b.happened("peer is ready", Established)
	p.advance(2 * p.a.m.times.timeWait)
	p.a.happened("the old one is forgotten, and takes nothing with it")
	if k := (qpKey{p.b.addr, 0x22}); p.a.m.byQP[k] == nil || p.a.m.byQP[k].local != id {
		t.Error("the new connection does not hold the queue pair")
	}
}

// TestLimits: what is beyond a limit is not answered, and the peer's
// repetitions get through when there is room again.
func TestLimits(t *testing.T) {
	p := newPair(t, noUnproven)
	var ids []mad.CommID
	for i := range wire.QPN(5) {
		p.a.connectBraid(p.b, 0x11+i)
	}
	p.b.take(p.a.sent("five ask", "REQ", "REQ", "REQ", "REQ", "REQ"))
	p.a.take(p.b.sent("nothing is proven", "REJ 3", "REJ 3", "REJ 3", "REJ 3", "REJ 3"))
	p.b.take(p.a.sent("five ask with cookies", "REQ", "REQ", "REQ", "REQ", "REQ"))
	for range 4 {
		e, _ := p.b.m.PollEvent()
		ids = append(ids, e.ID)
	}
	p.b.happened("four are taken")
	p.b.sent("the fifth is not answered")
	p.must(p.b.m.Reject(p.now, ids[0], mad.REJ{Reason: mad.ReasonNoResources}))
	p.a.take(p.b.sent("room for one", "REJ 3"))
	p.a.happened("refused", Rejected)
	p.advance(Time(p.a.m.cfg.FirstRetry) / pressedPart)
	p.b.take(p.a.sent("the others ask again", "REQ", "REQ", "REQ", "REQ"))
	p.b.happened("the fifth is taken", Requested)
	if got := p.b.m.Counters().Overloaded; got != 1 {
		t.Errorf("%d requests dropped", got)
	}

	p = newPair(t, func(c *Config) { c.MaxConns, c.MaxUnproven = 3, 6 })
	for i := range wire.QPN(3) {
		p.a.connect(p.b, 0x11+i)
	}
	if _, err := p.a.m.Connect(p.now, p.b.addr, mad.REQ{}); !errors.Is(err, ErrLimit) {
		t.Errorf("a fourth connection: %v", err)
	}
	p.b.take(p.a.sent("three ask", "REQ", "REQ", "REQ"))
	p.b.happened("two may be half open", Requested, Requested)
}

// noUnproven leaves no place for requests that are not proven.
func noUnproven(c *Config) { c.MaxUnproven = -1 }
