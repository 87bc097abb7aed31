package transport

import (
	"errors"
	"testing"

	"github.com/braid-rdma/braid/wire"
)

// Responses that are wrong, late, refused or never come.

// A response that nobody asked for moves no byte and ends nothing.
func TestMPUnaskedResponses(t *testing.T) {
	q := newMPTest(t, nil)
	q.read(0, 100)
	q.fetchAdd(512)
	q.forget()
	for name, p := range map[string]peerPacket{
		"READ response to an atomic": q.peerReadResponse(0, 1, pattern(1, 8))[0],
		"atomic response to a READ":  q.peerAtomicResponse(0, 0, 9),
		"a request of the future":    q.peerReadResponse(0, 2, pattern(1, 100))[0],
		"a request of the past":      q.peerReadResponse(0, 0xffffff, pattern(1, 100))[0],
	} {
		if v := q.arrive1(p); v != Drop || q.mp.State() != RTS {
			t.Errorf("%s: verdict %v, state %v", name, v, q.mp.State())
		}
	}
	q.wantBytes("memory", q.local, 0, make([]byte, 600))
	q.arrive(q.peerReadResponse(0, 0, pattern(1, 100))...)
	q.wantDone("the right one still works", 1)
}

// A response of another length than was asked for is a broken peer.
func TestMPResponseOfWrongLength(t *testing.T) {
	for _, length := range []int{99, 101, mpMTU + 1} {
		q := newMPTest(t, nil)
		q.read(0, 100)
		q.forget()
		q.arrive(q.peerReadResponse(0, 0, pattern(1, length))...)
		got := q.completions()
		if len(got) != 1 || got[0].Status != BadRespErr {
			t.Errorf("%d bytes for 100: %+v", length, got)
		}
		q.wantBytes("nothing beyond the request", q.local, 100, make([]byte, 600))
	}
}

// The refusal of a READ comes after its request was acknowledged, and is believed.
func TestMPRefusedReadFails(t *testing.T) {
	q := newMPTest(t, nil)
	q.write(1)
	q.read(0, 100)
	q.write(1)
	q.acks(0, 1, 2)
	q.wantDone("the WRITE before it", 1)
	q.nak(wire.NakRemoteAccess, 1, 1)
	got := q.completions()
	if len(got) != 2 || got[0].WRID != 2 || got[0].Status != RemAccessErr || got[1].Status != WRFlushErr {
		t.Fatalf("completions %+v", got)
	}
}

// Requests that the responder must refuse when the head reaches them.
func TestMPBadReadsAndAtomics(t *testing.T) {
	for _, c := range []struct {
		name string
		op   wire.Opcode
		edit func(*peerPacket)
		nak  wire.Syndrome
	}{
		{"READ of an unknown key", wire.ReadRequest, func(p *peerPacket) { p.RETH.RKey = 0xbad }, wire.NakRemoteAccess},
		{"READ beyond the region", wire.ReadRequest, func(p *peerPacket) { p.RETH.Length = 1<<20 + 1 }, wire.NakRemoteAccess},
		{"READ of more than a message", wire.ReadRequest, func(p *peerPacket) { p.RETH.Length = MaxMessage + 1 }, wire.NakInvalidRequest},
		{"atomic of an unknown key", wire.FetchAdd, func(p *peerPacket) { p.AtomicETH.RKey = 0xbad }, wire.NakRemoteAccess},
		{"atomic between words", wire.CompareSwap, func(p *peerPacket) { p.AtomicETH.VA++ }, wire.NakInvalidRequest},
	} {
		q := newMPTest(t, nil)
		p := q.peerRequest(c.op, 0, 0, 0, 8)
		c.edit(&p)
		q.arrive(p)
		q.wantRepliesIgnoringAcks(c.name, c.nak.String()+" 0 refused 0 head 0")
		if q.mp.State() != Err || q.mem.atomics != 0 {
			t.Errorf("%s: state %v, %d atomics run", c.name, q.mp.State(), q.mem.atomics)
		}
	}
}

// Memory that is deregistered while a READ is being answered is not sent.
func TestMPDeregisteredWhileReading(t *testing.T) {
	q := newMPTest(t, nil)
	q.arrive(q.peerRequest(wire.ReadRequest, 0, 0, 0, 20*mpMTU))
	q.wantRepliesIgnoringAcks("IW", "MP_READ_RESPONSE_FIRST", "MP_READ_RESPONSE_MIDDLE", "MP_READ_RESPONSE_MIDDLE", "MP_READ_RESPONSE_MIDDLE")
	q.mem.deregister(q.exposed)
	q.acks(mpResponse(0), mpResponse(1), mpResponse(2), mpResponse(3))
	q.wantRepliesIgnoringAcks("no byte more", "NAK_REMOTE_ACCESS 0 refused 0 head 1")
	q.wantEvents("the application is told", EventQPAccessErr)
}

// A READ whose request was delivered has no packet outstanding. If the peer
// dies then, the requester finds out by asking.
func TestMPAwaitedResponseNeverComes(t *testing.T) {
	q := quiet(t, func(_ *MPOptions, a *Attr) { a.RetryCount = 3 })
	q.read(0, 100)
	q.wantSent("request", 0)
	q.ack(0)
	probes := 0
	for q.mp.State() == RTS && probes < 100 {
		q.advanceToTimer()
		probes += len(q.probesOf())
	}
	got := q.completions()
	if probes != 3 || len(got) != 1 || got[0].Status != RetryExcErr {
		t.Fatalf("after %d questions: %+v", probes, got)
	}
}

// A peer that answers the question may take its time with the response.
func TestMPSlowResponderIsGivenTime(t *testing.T) {
	q := quiet(t, func(_ *MPOptions, a *Attr) { a.RetryCount = 1 })
	id := q.read(0, 100)
	q.wantSent("request", 0)
	q.ack(0)
	for range 50 {
		q.advanceToTimer()
		for _, p := range q.probesOf() {
			q.advance(mpRTT)
			q.answerProbe(p)
		}
	}
	if q.mp.State() != RTS {
		t.Fatal("gave up on a peer that answers")
	}
	q.arrive(q.peerReadResponse(0, 0, pattern(1, 100))...)
	q.wantDone("at last", id)
}

// Options and attributes out of range are refused before anything happens.
func TestMPRefusesBadConfiguration(t *testing.T) {
	mem := mpMemory{newTestMemory()}
	for name, edit := range map[string]func(*MPOptions){
		"L not a power of two": func(o *MPOptions) { o.Slots = 63 },
		"L too large":          func(o *MPOptions) { o.Slots = 2 * MaxTrackingSlots },
		"Δ above L":            func(o *MPOptions) { o.Delta = 65 },
		"p above one":          func(o *MPOptions) { o.ProbeProbability = 1.1 },
		"α below zero":         func(o *MPOptions) { o.Alpha = -1 },
		"no IW":                func(o *MPOptions) { o.InitialWindow = 0 },
		"IW above the limit":   func(o *MPOptions) { o.InitialWindow, o.MaxWindow = 8, 4 },
		"no run":               func(o *MPOptions) { o.Run = 0 },
		"no RTO":               func(o *MPOptions) { o.MinRTO = 0 },
	} {
		o := PaperOptions()
		edit(&o)
		if _, err := NewMP(mpConfig(mem, o, 1)); !errors.Is(err, ErrAttr) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, edit := range map[string]func(*Attr){
		"no path":      func(a *Attr) { a.Paths = 0 },
		"many paths":   func(a *Attr) { a.Paths = MaxPaths + 1 },
		"odd MTU":      func(a *Attr) { a.MTU = 1502 },
		"PSN too long": func(a *Attr) { a.RecvPSN = 1 << 24 },
	} {
		m, err := NewMP(mpConfig(mem, PaperOptions(), 1))
		if err != nil {
			t.Fatal(err)
		}
		attr := mpAttr()
		edit(&attr)
		if err := m.Modify(1, Init, nil); err != nil {
			t.Fatal(err)
		}
		if err := m.Modify(1, RTR, &attr); !errors.Is(err, ErrAttr) || m.State() != Init {
			t.Errorf("%s: %v in state %v", name, err, m.State())
		}
	}
}
