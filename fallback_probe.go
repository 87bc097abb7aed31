package braid

import (
	"errors"
	"time"
)

// probing asks whether UDP reaches the peer again: by packets of the longest kind, each of which the
// peer confirms by TCP. After goodProbes in a row this side sends by UDP again.
type probing struct {
	number uint32 // of the last probe, 24 bits
	asked  bool   // it is not confirmed
	good   int    // confirmed in a row
	pause  time.Duration
	first  time.Duration // the first pause
	back   time.Time     // when this side last returned to UDP by itself
}

const (
	goodProbes = 3
	// quickProbe is the time between probes that come through.
	quickProbe = 20 * time.Millisecond
	// firstProbe and lastProbe are the pauses between probes that do not; they double.
	firstProbe = 100 * time.Millisecond
	lastProbe  = 5 * time.Second
	// calm is how long UDP must have worked before an earlier failure is forgotten. Else each
	// failure doubles the pause after which it is tried, up to longestFirst.
	calm         = time.Minute
	longestFirst = 30 * time.Second
)

// leaveNumber is the number of a probe that asks nothing: the sender hears nothing and has no TCP connection.
// The peer may not know that, if the network has swallowed it.
const leaveNumber = 0

// leave tells the peer that this side has no TCP connection.
func (f *fallback) leave() { _ = f.ch.qp.Probe(leaveNumber) } // one that has ended needs none

// probed takes a probe of the peer.
func (f *fallback) probed(number uint32) {
	switch {
	case f.link == nil:
	case number == leaveNumber && f.fresh(f.linkedAt):
		// It may have been sent before there was the connection. If not, another will come.
	case number == leaveNumber:
		f.closeLink(MovedByBrokenTCP, errors.New("braid: the peer has left the TCP connection"))
	default:
		f.link.tunnel.Control(controlHeard, byte(number>>16), byte(number>>8), byte(number))
	}
}

// failed notes that UDP has failed: again, if it was not for long that it worked. Then the network may carry
// probes and not data, so TCP gets time for all that is to be sent again.
func (p *probing) failed(now time.Time, patience time.Duration) {
	if p.back.IsZero() || now.Sub(p.back) > calm {
		p.first = firstProbe
		return
	}
	p.first = min(max(2*p.first, patience/2), longestFirst)
}

// startProbing begins to look for UDP, unless TCP is commanded.
func (f *fallback) startProbing() {
	p := &f.probing
	if f.mode != CarrierAuto || f.peerPinned {
		f.at = time.Time{}
		return
	}
	if !f.at.IsZero() {
		return // it has begun
	}
	p.pause, p.good, p.asked = max(firstProbe, p.first), 0, false
	f.at = time.Now().Add(p.pause)
}

// probe sends a probe, and arranges for the next.
func (f *fallback) probe() {
	p := &f.probing
	if p.asked {
		p.good = 0
		p.pause = min(2*p.pause, max(lastProbe, p.first))
	}
	p.number = p.number%0xffffff + 1 // 1 to 2^24-1
	p.asked = true
	_ = f.ch.qp.Probe(p.number) // one that has ended needs none
	f.at = time.Now().Add(p.pause)
}

// heard is the peer's confirmation of a probe.
func (f *fallback) heard(number uint32) {
	p := &f.probing
	if !f.onTCP || !p.asked || number != p.number || f.at.IsZero() {
		return
	}
	p.asked = false
	if p.good++; p.good < goodProbes {
		f.at = time.Now().Add(quickProbe)
		return
	}
	p.back = time.Now()
	f.moveToUDP(MovedBack, nil)
}
