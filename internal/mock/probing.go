package mock

import "time"

// probing asks whether UDP reaches the peer again: by packets of the longest kind, each of which the
// peer confirms by TCP. After goodProbes in a row this side sends by UDP again.
type probing struct {
	number uint32 // of the last probe, 24 bits
	asked  bool   // it is not confirmed
	good   int    // confirmed in a row
	pause  time.Duration
	first  time.Duration // the first pause
	back   time.Duration // when this side last returned to UDP by itself; Never: it has not
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

// leaveNumber is the number of a probe that asks nothing: the sender receives nothing and has no TCP connection.
// The peer may not know that, if the network has swallowed it.
const leaveNumber = 0

// leave tells the peer that this side has no TCP connection.
func (m *Machine) leave() { m.do(Action{Kind: Probe, Number: leaveNumber}) }

// Probed is a probe of the peer, which has come by UDP.
func (m *Machine) Probed(now time.Duration, number uint32) {
	switch {
	case m.link == nil:
	case number == leaveNumber && m.fresh(now, m.linkedAt):
		// It may have been sent before there was the connection. If not, another will come.
	case number == leaveNumber:
		m.closeLink(now, ByBrokenTCP, errLeft)
	default:
		m.tell(frameProbed, byte(number>>16), byte(number>>8), byte(number))
	}
}

// failed notes that UDP has failed: again, if it was not for long that it worked. Then the network may carry
// probes and not data, so TCP gets time for all that is to be sent again.
func (p *probing) failed(now, patience time.Duration) {
	if p.back == Never || now-p.back > calm {
		p.first = firstProbe
		return
	}
	p.first = min(max(2*p.first, patience/2), longestFirst)
}

// startProbing begins to look for UDP, unless TCP is commanded.
func (m *Machine) startProbing(now time.Duration) {
	p := &m.probing
	if m.mode != Auto || m.peerPinned {
		m.at = Never
		return
	}
	if m.at != Never {
		return // it has begun
	}
	p.pause, p.good, p.asked = max(firstProbe, p.first), 0, false
	m.at = now + p.pause
}

// probe sends a probe, and arranges for the next.
func (m *Machine) probe(now time.Duration) {
	p := &m.probing
	if p.asked {
		p.good = 0
		p.pause = min(2*p.pause, max(lastProbe, p.first))
	}
	p.number = p.number%0xffffff + 1 // 1 to 2^24-1
	p.asked = true
	m.do(Action{Kind: Probe, Number: p.number})
	m.at = now + p.pause
}

// confirmed is the peer's word that a probe has come.
func (m *Machine) confirmed(now time.Duration, number uint32) {
	p := &m.probing
	if !m.onTCP || !p.asked || number != p.number || m.at == Never {
		return
	}
	p.asked = false
	if p.good++; p.good < goodProbes {
		m.at = now + quickProbe
		return
	}
	p.back = now
	m.moveToUDP(Back, nil)
}
