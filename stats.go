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
	})
	return s
}

// ContextStats are what a context has.
type ContextStats struct {
	Channels     int
	Listeners    int
	FrameBytes   int // memory for small messages and receives
	BufferBytes  int // memory for large messages, and of it what is not used
	UnusedBytes  int
	PendingBytes int // of large messages that the application does not have yet
}

// Stats returns what the context has now.
func (c *Context) Stats() (s ContextStats) {
	c.exclusive(func() {
		for _, ch := range c.channels {
			if ch != nil {
				s.Channels++
			}
		}
		s.Listeners, s.PendingBytes = len(c.listeners), c.fetches.memory
	})
	s.FrameBytes, s.BufferBytes = int(c.memory.frames.Load()), int(c.memory.buffers.Load())
	s.UnusedBytes = s.BufferBytes - int(c.memory.inUse.Load())
	return s
}
