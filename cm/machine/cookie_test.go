package machine

import (
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/braid-rdma/braid/cm/mad"
)

// TestCookie: where there is no room for an unproven request, a braid peer is
// sent a cookie and nothing is kept until it comes back.
func TestCookie(t *testing.T) {
	p := newPair(t, noUnproven)
	p.a.connectBraid(p.b, 0x11)
	p.b.take(p.a.sent("asks", "REQ"))
	if p.b.m.Len() != 0 {
		t.Errorf("%d connections of a peer that has proven nothing", p.b.m.Len())
	}
	cookie := p.b.sent("asks for proof", "REJ 3")
	p.a.take(cookie)
	p.a.happened("goes on")
	again := p.a.sent("asks with the cookie", "REQ")
	p.a.take(cookie)
	p.a.sent("a second cookie says nothing new")

	p.b.takeFrom(netip.MustParseAddr("10.0.0.9"), again[0])
	p.b.sent("the cookie is no good from elsewhere", "REJ 3")
	p.b.happened("from elsewhere")
	p.b.take(again)
	p.b.happened("asked", Requested)
	if !p.b.last.Proven {
		t.Error("the request is not proven")
	}
	p.must(p.b.m.Accept(p.now, p.b.last.ID, mad.REP{QPN: 0x22}, true))
	p.a.take(p.b.sent("grants", "REP"))
	p.a.happened("granted", Replied)
	p.must(p.a.m.Ready(p.now, p.a.last.ID, true))
	p.b.take(p.a.sent("is ready", "RTU"))
	p.b.happened("peer is ready", Established)
}

// TestCookieIsSpared: while there is room nobody is asked for proof.
func TestCookieIsSpared(t *testing.T) {
	p := newPair(t)
	p.a.connectBraid(p.b, 0x11)
	p.b.take(p.a.sent("asks", "REQ"))
	p.b.happened("asked", Requested)
	p.b.sent("no cookie")
}

// TestListenProven: a service that asks everybody for a cookie is told of no request
// before, though there would be room, and though the address has answered a probe.
func TestListenProven(t *testing.T) {
	p := newPair(t)
	p.b.m.Unlisten(service)
	p.must(p.b.m.ListenProven(service, 4))
	p.a.connectBraid(p.b, 0x11)
	p.b.take(p.a.sent("asks", "REQ"))
	p.b.happened("nothing yet")
	p.a.take(p.b.sent("asks for proof", "REJ 3"))
	p.b.take(p.a.sent("asks with the cookie", "REQ"))
	p.b.happened("asked", Requested)
	if !p.b.last.Proven || p.b.m.Len() != 1 {
		t.Errorf("proven %v, %d connections", p.b.last.Proven, p.b.m.Len())
	}

	p.b.m.known.add(p.now, p.a.addr)
	p.a.connect(p.b, 0x12)
	p.b.take(p.a.sent("asks as a standard peer", "REQ"))
	p.b.happened("it knows no cookies")
	p.b.sent("refused", "REJ 5")
}

// TestProbe: a standard peer without a place shows its address by the answer to
// a DREQ for no connection, and its next request has a place.
func TestProbe(t *testing.T) {
	p := newPair(t, noUnproven)
	p.a.connect(p.b, 0x11)
	p.b.take(p.a.sent("asks", "REQ"))
	probe := p.b.sent("is probed", "DREQ")
	p.a.take(probe)
	p.a.happened("its request is not concerned")
	drep := p.a.sent("exists", "DREP")
	p.b.takeFrom(netip.MustParseAddr("10.0.0.9"), drep[0])
	if len(p.b.m.known.until) != 0 {
		t.Error("the answer counts from elsewhere")
	}
	p.b.take(drep)
	if p.b.m.Len() != 0 {
		t.Errorf("%d connections", p.b.m.Len())
	}
	p.advance(Time(p.a.m.cfg.FirstRetry))
	p.b.take(p.a.sent("asks again", "REQ"))
	p.b.happened("asked", Requested)
	if !p.b.last.Proven {
		t.Error("the address is not proven")
	}
	// The request itself is not: somebody else may have sent it.
	p.must(p.b.m.Accept(p.now, p.b.last.ID, mad.REP{QPN: 0x22}, false))
	p.b.sent("grants", "REP")
	p.advance(31 * Second)
	p.b.sent("as much as an unproven peer may get", "REP", "REJ 4")
	p.b.happened("peer died", TimedOut)

	p.b.take([][]byte{mad.Append(nil, &mad.REQ{LocalID: 3, Service: service}, 1)})
	p.b.happened("known no longer")
	p.b.sent("is probed", "DREQ")
}

// TestKnownIsBounded: the oldest of many known addresses is forgotten.
func TestKnownIsBounded(t *testing.T) {
	k := knownAddrs{until: map[netip.Addr]Time{}}
	first := netip.MustParseAddr("10.0.0.1")
	a := first
	for range maxKnown + 1 {
		k.add(1, a)
		k.add(2, a)
		a = a.Next()
	}
	if k.has(3, first) || !k.has(3, first.Next()) || len(k.until) != maxKnown || len(k.order) != maxKnown {
		t.Errorf("%d known", len(k.until))
	}
	k.add(3+knownTime, a)
	if len(k.until) != 1 || len(k.order) != 1 {
		t.Errorf("%d known after their time", len(k.until))
	}
}

// TestCookieExpires: a cookie is good for at least one life of a secret, and
// not for more than two; a late one gets a fresh one.
func TestCookieExpires(t *testing.T) {
	for _, test := range []struct {
		after Time
		good  bool
	}{{0, true}, {secretPeriod, true}, {2 * secretPeriod, false}, {10 * secretPeriod, false}} {
		for offset := Time(0); offset < secretPeriod; offset += secretPeriod / 3 {
			jar := newCookieJar(rand.New(rand.NewPCG(1, 2)), secretPeriod)
			from, req := netip.MustParseAddr("10.0.0.1"), &mad.REQ{LocalID: 5, QPN: 6}
			jar.rotate(7)
			cookie := jar.cookie(7+offset, from, req)
			if got := jar.proves(7+offset+test.after, from, req, cookie); got != test.good {
				t.Errorf("%d ns into a period, %d ns later: good %v, want %v", offset, test.after, got, test.good)
			}
		}
	}
}

// TestCookieIsOfOneRequest: each thing that a cookie was made of counts.
func TestCookieIsOfOneRequest(t *testing.T) {
	jar := newCookieJar(rand.New(rand.NewPCG(1, 2)), secretPeriod)
	from, req := netip.MustParseAddr("10.0.0.1"), mad.REQ{LocalID: 5, QPN: 6, Service: 7, LocalGUID: 8}
	cookie := jar.cookie(1, from, &req)
	for name, change := range map[string]func(*mad.REQ){
		"identifier": func(r *mad.REQ) { r.LocalID++ },
		"queue pair": func(r *mad.REQ) { r.QPN++ },
		"service":    func(r *mad.REQ) { r.Service++ },
		"adapter":    func(r *mad.REQ) { r.LocalGUID++ },
	} {
		other := req
		if change(&other); jar.proves(1, from, &other, cookie) {
			t.Errorf("the cookie is good for another %s", name)
		}
	}
	if jar.proves(1, from.Next(), &req, cookie) {
		t.Error("the cookie is good for another address")
	}
	if jar.proves(1, from, &req, 0) || cookieOf(&[32]byte{}, from, &req) == cookie {
		t.Error("the secret is zero")
	}
}

// TestDisplaced: a full pool gives the place of the oldest unproven request to a
// newcomer, but not before the oldest has had the time to prove itself. Its
// peer learns of that when it turns out to be in earnest.
func TestDisplaced(t *testing.T) {
	p := newPair(t, func(c *Config) { c.MaxUnproven = 1 })
	p.a.connect(p.b, 0x11)
	p.b.take(p.a.sent("asks", "REQ"))
	p.b.happened("asked", Requested)
	first := p.b.last.ID
	p.must(p.b.m.Accept(p.now, first, mad.REP{QPN: 0x22}, false))
	p.a.take(p.b.sent("grants", "REP"))
	p.a.happened("granted", Replied)

	other := netip.MustParseAddr("10.0.0.9")
	req := mad.Append(nil, &mad.REQ{LocalID: 9, Service: service, QPN: 0x33}, 1)
	p.b.takeFrom(other, req)
	p.b.happened("the first has its time")
	p.b.sent("the newcomer shall show that it exists", "DREQ")
	p.now += proofTime
	p.b.takeFrom(other, req)
	p.b.happened("the time is over", TimedOut, Requested)
	p.b.sent("the first may ask again")
	if p.b.m.Len() != 1 || p.b.m.Counters().Displaced != 1 {
		t.Errorf("%d connections, %+v", p.b.m.Len(), p.b.m.Counters())
	}
	p.must(p.a.m.Ready(p.now, p.a.last.ID, false))
	p.b.take(p.a.sent("is ready, too late", "RTU"))
	p.a.take(p.b.sent("tells it", "REJ 6"))
	p.a.happened("knows", Rejected)
}
