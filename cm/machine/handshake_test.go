package machine

import (
	"errors"
	"testing"

	"github.com/braid-rdma/braid/cm/mad"
)

func TestHandshakeAndFarewell(t *testing.T) {
	for _, confirm := range []bool{false, true} {
		p := newPair(t)
		p.establish(confirm)
		p.advance(100 * Second)
		p.a.sent("an established connection is silent")
		p.b.sent("an established connection is silent")
		p.must(p.b.m.Disconnect(p.now, p.b.last.ID))
		p.a.take(p.b.sent("says goodbye", "DREQ"))
		p.a.happened("peer has gone", Disconnected)
		p.b.take(p.a.sent("answers", "DREP"))
		p.b.happened("through", Closed)
		p.advance(2 * Second)
		p.a.sent("silence")
		p.b.sent("silence")
		p.empty()
	}
}

func TestMessageContents(t *testing.T) {
	p := newPair(t)
	id, err := p.a.m.Connect(p.now, p.b.addr, mad.REQ{Service: service, QPN: 5, PSN: 6, PrivateData: [92]byte{1, 2}})
	p.must(err)
	d := p.a.sent("asks", "REQ")
	message, tid, _ := mad.Parse(d[0])
	req := message.(*mad.REQ)
	if req.LocalID != id || req.LocalGUID != 1 || req.PSN != 6 || req.PrivateData[1] != 2 ||
		req.MaxCMRetries != 15 || req.LocalTimeout != statedTimeout || req.RemoteTimeout != statedTimeout {
		t.Errorf("%+v", req)
	}
	p.b.take(d)
	p.b.happened("asked", Requested)
	if *p.b.last.REQ != *req || p.b.last.Peer != p.a.addr {
		t.Errorf("%+v", p.b.last)
	}
	p.must(p.b.m.Accept(p.now, p.b.last.ID, mad.REP{QPN: 7, PSN: 8}, false))
	d = p.b.sent("grants", "REP")
	message, again, _ := mad.Parse(d[0])
	rep := message.(*mad.REP)
	if again != tid || rep.LocalID != p.b.last.ID || rep.RemoteID != id || rep.LocalGUID != 2 || rep.QPN != 7 {
		t.Errorf("%+v, transaction %x of %x", rep, again, tid)
	}
	p.a.take(d)
	p.a.happened("granted", Replied)
	if *p.a.last.REP != *rep || p.a.last.ID != id {
		t.Errorf("%+v", p.a.last)
	}
	p.must(p.a.m.Ready(p.now, id, false))
	message, again, _ = mad.Parse(p.a.sent("ready", "RTU")[0])
	if rtu := message.(*mad.RTU); again != tid || rtu.LocalID != id || rtu.RemoteID != p.b.last.ID {
		t.Errorf("%+v, transaction %x of %x", rtu, again, tid)
	}
	p.must(p.a.m.Disconnect(p.now, id))
	message, _, _ = mad.Parse(p.a.sent("goodbye", "DREQ")[0])
	if dreq := message.(*mad.DREQ); dreq.LocalID != id || dreq.RemoteID != p.b.last.ID || dreq.RemoteQPN != 7 {
		t.Errorf("%+v", dreq)
	}
}

func TestCommandsInWrongStates(t *testing.T) {
	p := newPair(t)
	id := p.a.connect(p.b, 0x11)
	for name, err := range map[string]error{
		"ready":      p.a.m.Ready(p.now, id, false),
		"accept":     p.a.m.Accept(p.now, id, mad.REP{}, false),
		"disconnect": p.a.m.Disconnect(p.now, id),
	} {
		if !errors.Is(err, ErrState) {
			t.Errorf("%s while the request is on its way: %v", name, err)
		}
	}
	for name, err := range map[string]error{
		"ready":      p.a.m.Ready(p.now, id+1, false),
		"accept":     p.a.m.Accept(p.now, id+1, mad.REP{}, false),
		"disconnect": p.a.m.Disconnect(p.now, id+1),
		"reject":     p.a.m.Reject(p.now, id+1, mad.REJ{}),
	} {
		if !errors.Is(err, ErrUnknown) {
			t.Errorf("%s of no connection: %v", name, err)
		}
	}
	if err := p.b.m.Listen(service, 1); !errors.Is(err, ErrInUse) {
		t.Errorf("listens twice: %v", err)
	}
	p.a.sent("one request", "REQ")
	p = newPair(t)
	p.establish(false)
	if err := p.a.m.Reject(p.now, p.a.last.ID, mad.REJ{}); !errors.Is(err, ErrState) {
		t.Errorf("rejects an established connection: %v", err)
	}
}

// TestDuplicates sends each message of a handshake twice.
func TestDuplicates(t *testing.T) {
	p := newPair(t)
	p.a.connect(p.b, 0x11)
	req := p.a.sent("asks", "REQ")
	p.b.take(req)
	p.b.happened("asked", Requested)
	id := p.b.last.ID
	p.b.take(req)
	p.b.happened("asked once")
	p.a.take(p.b.sent("the program has not answered", "MRA 0"))
	p.must(p.b.m.Accept(p.now, id, mad.REP{QPN: 0x22}, false))
	rep := p.b.sent("grants", "REP")
	p.b.take(req)
	p.a.take(p.b.sent("asked again", "REP"))
	p.a.happened("granted", Replied)
	p.a.take(rep)
	p.a.happened("granted once")
	p.b.take(p.a.sent("the program has not answered", "MRA 1"))
	p.must(p.a.m.Ready(p.now, p.a.last.ID, false))
	p.a.sent("ready, which is lost", "RTU")
	p.a.take(rep)
	rtu := p.a.sent("granted again", "RTU")
	p.b.take(rtu)
	p.b.happened("peer is ready", Established)
	p.b.take(rtu)
	p.b.take(req)
	p.a.take(rep)
	p.a.sent("answers each REP", "RTU")
	p.b.happened("nothing new")
	p.b.sent("nothing to say")
	p.must(p.a.m.Disconnect(p.now, p.a.last.ID))
	dreq := p.a.sent("goodbye", "DREQ")
	p.b.take(dreq)
	p.b.happened("peer has gone", Disconnected)
	drep := p.b.sent("answers", "DREP")
	p.b.take(dreq)
	p.b.happened("gone once")
	p.b.sent("answers again", "DREP")
	p.a.take(drep)
	p.a.take(drep)
	p.a.happened("through once", Closed)
	p.b.take(req)
	p.b.sent("a request of a connection that has ended", "REJ 10")
	p.advance(2 * Second)
	p.b.take(dreq)
	p.b.sent("also a stranger is answered", "DREP")
	p.empty()
}

func TestDisconnectAtOnce(t *testing.T) {
	p := newPair(t)
	p.establish(true)
	p.must(p.a.m.Disconnect(p.now, p.a.last.ID))
	p.must(p.b.m.Disconnect(p.now, p.b.last.ID))
	fromA, fromB := p.a.sent("goodbye", "DREQ"), p.b.sent("goodbye", "DREQ")
	p.a.take(fromB)
	p.b.take(fromA)
	p.a.happened("through", Closed)
	p.b.happened("through", Closed)
	fromA, fromB = p.a.sent("answers", "DREP"), p.b.sent("answers", "DREP")
	p.a.take(fromB)
	p.b.take(fromA)
	p.a.happened("nothing more")
	p.b.happened("nothing more")
	p.advance(2 * Second)
	p.empty()
}

// TestLostRTU: the peer disconnects before its RTU has arrived.
func TestLostRTU(t *testing.T) {
	p := newPair(t)
	p.a.connect(p.b, 0x11)
	p.b.take(p.a.sent("asks", "REQ"))
	p.b.happened("asked", Requested)
	p.must(p.b.m.Accept(p.now, p.b.last.ID, mad.REP{}, false))
	p.a.take(p.b.sent("grants", "REP"))
	p.a.happened("granted", Replied)
	p.must(p.a.m.Ready(p.now, p.a.last.ID, false))
	p.a.sent("lost", "RTU")
	p.must(p.a.m.Disconnect(p.now, p.a.last.ID))
	p.b.take(p.a.sent("goodbye", "DREQ"))
	p.b.happened("came and went", Disconnected)
	p.a.take(p.b.sent("answers", "DREP"))
	p.a.happened("through", Closed)
	p.advance(2 * Second)
	p.empty()
}

// TestDelay: an MRA stops the repetitions for the time that it names.
func TestDelay(t *testing.T) {
	p := newPair(t)
	p.a.connect(p.b, 0x11)
	req := p.a.sent("asks", "REQ")
	p.b.take(req)
	p.b.take(req)
	p.a.take(p.b.sent("asks for more time", "MRA 0"))
	p.advance(Second)
	p.a.sent("is patient")
	p.advance(Second / 5)
	p.a.sent("asks again", "REQ")
	p.b.happened("asked once", Requested)
	p.must(p.b.m.Accept(p.now, p.b.last.ID, mad.REP{}, false))
	p.a.take(p.b.sent("grants", "REP"))
	p.a.happened("granted", Replied)
}

// TestDelayIsBounded: a peer that asks for more time again and again is given up
// in the end, by either side.
func TestDelayIsBounded(t *testing.T) {
	p := newPair(t)
	id := p.a.connect(p.b, 0x11)
	p.b.take(p.a.sent("asks", "REQ"))
	p.b.happened("asked", Requested)
	p.must(p.b.m.Accept(p.now, p.b.last.ID, mad.REP{QPN: 0x22}, false))
	p.b.sent("grants, which is lost", "REP")
	fromB := mad.Append(nil, &mad.MRA{LocalID: 99, RemoteID: id, Subject: mad.SubjectREQ, ServiceTimeout: 31}, 1)
	fromA := mad.Append(nil, &mad.MRA{LocalID: id, RemoteID: p.b.last.ID, Subject: mad.SubjectREP, ServiceTimeout: 31}, 1)
	for range 100 {
		p.a.takeFrom(p.b.addr, fromB)
		p.b.takeFrom(p.a.addr, fromA)
		p.advance(Second)
	}
	p.a.happened("gives up", TimedOut)
	p.b.happened("gives up", TimedOut)
	p.empty()
}
