package transport

// mpPath is what the sender keeps about one virtual path: counters for people,
// and what selective retransmission and the retirement of paths need. The
// paper's own mechanisms use none of it.
type mpPath struct {
	PathCounters
	sentOrder   uint32          // transmissions on this path so far
	ackedOrder  uint32          // the latest of them known to have arrived
	flight      fifo[pathEntry] // transmissions in order, with stale ones in between
	lastLoss    Time
	unheard     uint32 // packets given up since the path was last heard of
	*retirement        // since the path first lost packets
}

// retirement is what is known of a path that has lost packets, and may be out of use.
type retirement struct {
	suspectAt  Time // when the first loss of a possible series was noticed
	retiredAt  Time
	probeAt    Time // when the next probe is due
	probeWait  Time // how long the last probe was given
	probeStamp uint32
	probing    bool  // the probe with this stamp is not answered
	probeNext  bool  // the next probe follows a good one
	probesGood uint8 // probes of this retirement that came back
	times      uint8 // retirements in quick succession: each doubles the wait
}

// pathEntry names one transmission: it is stale once the packet's record has
// moved on.
type pathEntry struct {
	at    seq
	order uint32
}
