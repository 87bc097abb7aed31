package transport

// lossRecovery knows which packets are in the network and which must be sent
// again. There are two: the paper's, with no record per packet, and the
// selective one.
type lossRecovery interface {
	// sent notes a transmission of packet s, which had been sent before if again.
	sent(s seq, p Path, now Time, again bool)
	// sacked notes that s arrived by path p, as a retransmission if again; it
	// answers whether that was news.
	sacked(s seq, p Path, again bool) bool
	// advanced notes that everything before `to` has arrived; from is the old snd_una.
	advanced(from, to seq)
	// inflight is the number of packets believed to be in the network.
	inflight() int
	// next answers the packet to send again, if any. It stays the answer until it is sent.
	next() (seq, bool)
	// oldest answers the oldest packet that is believed to be in the network, and when it was sent.
	oldest() (seq, Time, bool)
	// nacked notes that the receiver misses s and refused beyond, which had been
	// sent before if again.
	nacked(now Time, s, beyond seq, again bool)
	// rewind asks for everything from s on to be sent again, without blame (RNR, early synchronise).
	rewind(s seq)
	// refused notes that the receiver kept none of the packets from..to-1.
	refused(from, to seq)
	// timedOut notes that everything in the network is lost.
	timedOut()
	// detect looks for losses that an acknowledgement by path p implies.
	detect(now Time, p Path) int
}
