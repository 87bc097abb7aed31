package transport

// mpPath is what the sender keeps about one virtual path: counters for people,
// and what selective retransmission and the retirement of paths need. The
// paper's own mechanisms use none of it.
type mpPath struct {
	pathCounts
	sentOrder   uint32           // transmissions on this path so far
	ackedOrder  uint32           // the latest of them known to have arrived
	flight      *fifo[pathEntry] // transmissions in order, with stale ones in between; nil before the first
	lastLoss    Time
	heardAt     Time // when an acknowledgement last named the path
	*retirement      // since the path first lost packets
}

// pathCounts are PathCounters in less space: an idle connection has little.
type pathCounts struct {
	Sent, Acknowledged, Lost, Marked uint64
	Bytes                            uint64
	srtt                             uint32 // nanoseconds
	unheard                          uint16 // packets given up since the path was last heard of
	Retired                          bool
}

// counters are the counts as the outside sees them.
func (c *pathCounts) counters() PathCounters {
	return PathCounters{
		Sent: c.Sent, Acknowledged: c.Acknowledged, Lost: c.Lost, Marked: c.Marked,
		Bytes: c.Bytes, SmoothedRTT: Time(c.srtt), Retired: c.Retired,
	}
}

// inFlight is the number of packets that the path has in the network.
func (c *pathCounts) inFlight() int { return int(c.Sent - c.Acknowledged - c.Lost) }

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
