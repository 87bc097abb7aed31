package transport

// ledger counts, for each recent packet of a stream, the transmissions that no
// acknowledgement has named yet, and no NACK. Acknowledgements take different ways back, so
// one may arrive after a later one has moved snd_una beyond its packet; it still
// says by which path and with which mark the packet arrived, and counts. A copy of
// it, or a forged one, names no transmission that is left, and does not.
type ledger struct {
	counts []ledgerCount // ring, by sequence number; a power of two
	end    seq           // beyond the latest packet
}

// ledgerCount is what is known of one packet: the low half counts transmissions
// of which nothing was said, the high half those that were acknowledged. While
// the peer stands still for seconds there are some dozens.
type ledgerCount uint16

const (
	ledgerLeft  ledgerCount = 0x00ff
	ledgerAcked ledgerCount = 0x0100
	ledgerTwice             = 2 * ledgerAcked
	ledgerMost              = 254 * ledgerAcked
)

// minLedger is the size of a fresh ring.
const minLedger = 64

func (l *ledger) at(s seq) *ledgerCount { return &l.counts[s&seq(len(l.counts)-1)] }

// sent notes a transmission of packet s, of a stream whose snd_una is una.
func (l *ledger) sent(s, una seq) {
	if s >= l.end {
		l.reserve(4 * int(s-una+1))
		*l.at(s) = 0
		l.end = s + 1
	}
	if c := l.at(s); *c&ledgerLeft < ledgerLeft {
		*c++
	}
}

// has says whether packet s has a transmission without an acknowledgement of its own.
func (l *ledger) has(s seq) bool {
	return s < l.end && l.end-s <= seq(len(l.counts)) && *l.at(s)&ledgerLeft != 0
}

// take uses up one transmission of packet s. It returns false if none is left,
// and whether another transmission of the packet has arrived before: then one
// of the two was not needed.
func (l *ledger) take(s seq) (ok, repeated bool) {
	if !l.has(s) {
		return false, false
	}
	c := l.at(s)
	*c--
	if *c < ledgerMost {
		*c += ledgerAcked
	}
	return true, *c >= ledgerTwice
}

// refused uses up one transmission of packet s, which was not taken. It returns false if none is left.
func (l *ledger) refused(s seq) bool {
	if !l.has(s) {
		return false
	}
	*l.at(s)--
	return true
}

// reserve makes the ring large enough for what is outstanding and what came before it.
func (l *ledger) reserve(packets int) {
	if packets <= len(l.counts) {
		return
	}
	size := max(minLedger, len(l.counts))
	for size < packets {
		size *= 2
	}
	grown := make([]ledgerCount, size)
	for i := range l.counts {
		s := l.end - 1 - seq(i)
		grown[s&seq(size-1)] = *l.at(s)
	}
	l.counts = grown
}
