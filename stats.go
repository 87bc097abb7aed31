package braid

// Stats are what has happened on a channel.
type Stats struct {
	Sent, Received  uint64 // messages
	Acknowledged    uint64 // of those sent, received by the peer's application
	Queued          int    // messages that wait for the peer's window
	Calls, Failures uint64 // calls made; of them failed by the peer's handler
	Blocked         uint64 // times that the peer's window was closed
	Acks, Nops      uint64 // frames that had no message, and of them those that asked the peer for one
	FetchedBytes    uint64 // of large messages
	Filtered        uint64 // messages that a Filter disturbed
	RNRs            uint64 // frames that found no receive, at this end and at the peer's: always zero
	OnTCP           bool   // what this side sends goes by TCP now
	Moves           uint64 // from UDP to TCP or back
	LastMove        MoveReason
}

// Stats returns what has happened so far.
func (ch *Channel) Stats() (s Stats) {
	ch.context.exclusive(func() {
		n := ch.session.Counters()
		s = Stats{
			Sent: n.Sent, Received: n.Received, Acknowledged: n.Acknowledged, Queued: ch.session.Queued(),
			Calls: n.Calls, Failures: n.Failures, Blocked: n.Blocked, Acks: n.Acks, Nops: n.Nops, FetchedBytes: n.Fetched, Filtered: ch.filtered,
		}
		q := ch.qp.Stats()
		s.RNRs = q.RNRNaksSent + q.RNRNaksReceived
		if ch.fallback != nil {
			state := ch.fallback.snapshot()
			s.OnTCP, s.Moves, s.LastMove = state.onTCP, state.moves, state.reason
		}
	})
	return s
}

// ContextStats are what a context has.
type ContextStats struct {
	Channels, Listeners int
	OnTCP               int    // channels whose packets go by TCP now
	Strangers           uint64 // TCP connections that belonged to no channel, and were refused
	// Memory for small messages and receives, and for large messages; and of each what is not used.
	FrameBytes, UnusedFrameBytes int
	BufferBytes, UnusedBytes     int
	PendingBytes                 int // of large messages that the application does not have yet
	CachedQPs                    int // queue pairs that wait for later channels
	ReusedQPs                    uint64
}

// Stats returns what the context has now.
func (c *Context) Stats() (s ContextStats) {
	c.exclusive(func() {
		for _, ch := range c.channels {
			if ch != nil {
				s.Channels++
				if ch.fallback != nil && ch.fallback.snapshot().onTCP {
					s.OnTCP++
				}
			}
		}
		s.Listeners, s.PendingBytes = len(c.listeners), c.fetches.memory
		s.CachedQPs, s.ReusedQPs = len(c.qps.waiting), c.qps.reused
	})
	if c.streams != nil {
		s.Strangers = c.streams.strangersRefused()
	}
	s.FrameBytes, s.UnusedFrameBytes = c.slots.bytes(), c.slots.unused()
	s.BufferBytes, s.UnusedBytes = c.buffers.stats()
	return s
}
