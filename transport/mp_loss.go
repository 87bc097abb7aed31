package transport

// lossRecovery knows which packets are in the network and which must be sent
// again. It changes nothing but itself: what it finds out about transmissions
// it returns as verdicts, which the queue pair applies to counters, paths and
// policy. There are two: the paper's, with no record per packet, and the
// selective one.
type lossRecovery interface {
	// sent notes a transmission of packet s, which had been sent before if again.
	sent(id streamID, s seq, p Path, now Time, again bool)
	// acked notes that s arrived by path p, as a retransmission if again; it
	// returns whether that was news.
	acked(id streamID, s seq, p Path, again bool) bool
	// advanced notes that everything before `to` has arrived.
	advanced(id streamID, to seq)
	// inFlight is the number of packets believed to be in the network.
	inFlight() int
	// next returns the packet to send again, if any. It stays the same until it is sent.
	next(id streamID) (seq, bool)
	// oldest returns the oldest packet that is believed to be in the network.
	oldest(id streamID) (overdue, bool)
	// nacked notes that the receiver misses s and refused `refused`, which had been
	// sent before if again.
	nacked(id streamID, n nackedPacket, believedFrom Time)
	// refused notes that the receiver kept none of the packets from..to-1 (RNR,
	// early synchronise): they are sent again, without blame.
	refused(id streamID, from, to seq)
	// timedOut notes that everything in the network is lost.
	timedOut(id streamID)
	// detect looks for losses that an acknowledgement by path p implies, silence
	// being how much later a packet must have arrived by another path to prove one.
	detect(now Time, p Path, silence Time)
	// forgive forgets what counts against a path.
	forgive(p Path)
	// verdicts returns what was found out since the last call; it is valid until the next.
	verdicts() []verdict
}

// overdue is a packet that may have been lost, since nothing was said of it.
type overdue struct {
	at     seq
	sentAt Time
	path   Path // by which it went last; noPath where that is not tracked
}

// nackedPacket is what a sequence NAK names.
type nackedPacket struct {
	missing, refused seq
	again            bool // the refused packet was a retransmission
}

// verdict is what became of a transmission, or what that says about its path.
type verdict struct {
	at    seq // the packet; 0 where the verdict is on a path
	found finding
	path  Path
}

type finding uint8

const (
	foundArrived finding = iota // the transmission arrived
	foundLate                   // it had been taken for lost and arrived after all
	foundLost                   // it is taken for lost
	foundLosing                 // packets of the path were lost while later ones arrived
	foundSilent                 // no acknowledgement has named the path while others were named
)
