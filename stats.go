package braid

import (
	"iter"
	"time"

	"github.com/braid-rdma/braid/internal/statfile"
)

// Stats are what has happened on a channel, and how it is now.
type Stats struct {
	Sent, Received           uint64 // messages
	SentBytes, ReceivedBytes uint64 // of their payload
	Acknowledged             uint64 // of those sent, received by the peer's application
	Calls, Failures          uint64 // calls made; of them failed by the peer's handler
	Blocked                  uint64 // times that the peer's window was closed
	Acks, Nops               uint64 // frames without a message: those that only acknowledge, and those that ask the peer to
	FetchedBytes             uint64 // of large messages
	Filtered                 uint64 // messages that a Filter disturbed
	RNRs                     uint64 // frames that found no receive, at this end and at the peer's: always zero
	Retransmitted            uint64 // packets
	Moves                    uint64 // from UDP to TCP or back

	OnTCP          bool       `stat:"gauge"` // what this side sends goes by TCP now
	LastMove       MoveReason `stat:"gauge"`
	Queued         int        `stat:"gauge"` // messages that wait for the peer's window
	SendWindow     int        `stat:"gauge"` // messages that the peer would take now
	Unacknowledged int        `stat:"gauge"` // messages that the peer's application does not have yet
	ReceiveWindow  int        `stat:"gauge"` // messages that the peer may send now
	Unread         int        `stat:"gauge"` // messages that have arrived and the application does not have yet
	OpenCalls      int        `stat:"gauge"` // calls without a response
	Handling       int        `stat:"gauge"` // messages that handlers have
	Reads          int        `stat:"gauge"` // READs, and one-sided operations, on their way

	RTT time.Duration `stat:"duration"` // smoothed round trip of a multi-path connection
}

// Stats returns what has happened so far.
func (ch *Channel) Stats() (s Stats) {
	ch.context.exclusive(func() {
		if ch.session != nil {
			ch.count(&s)
			ch.samples.take(ch)
			ch.samples.store(&s)
		}
	})
	return s
}

// count stores what the channel itself knows.
func (ch *Channel) count(s *Stats) {
	n := ch.session.Counters()
	s.Sent, s.Received, s.SentBytes, s.ReceivedBytes = n.Sent, n.Received, n.SentBytes, n.ReceivedBytes
	s.Acknowledged, s.Calls, s.Failures, s.Blocked = n.Acknowledged, n.Calls, n.Failures, n.Blocked
	s.Acks, s.Nops, s.FetchedBytes, s.Filtered = n.Acks, n.Nops, n.Fetched, ch.filtered
	w := ch.session.Window()
	s.SendWindow, s.Unacknowledged, s.ReceiveWindow, s.Unread, s.OpenCalls = w.Sendable, w.Unacknowledged, w.Granted, w.Held, w.Calls
	s.Queued, s.Handling, s.Reads = ch.session.Queued(), ch.handlers, ch.reads
}

// All yields the numbers by name, always in the same order; times are in nanoseconds.
func (s Stats) All() iter.Seq2[string, int64] { return statfile.Numbers(&s) }

// All yields the numbers by name, always in the same order.
func (s ContextStats) All() iter.Seq2[string, int64] { return statfile.Numbers(&s) }

// transportSample is what the queue pair says. Asking it takes the lock of the device, so that it is not asked for
// each message.
type transportSample struct {
	next                time.Duration // when it is asked again
	rnrs, retransmitted uint64
	rtt                 time.Duration
	fallback            carrierState
}

func (t *transportSample) take(ch *Channel) {
	q := ch.qp.Stats()
	t.rnrs, t.retransmitted = q.RNRNaksSent+q.RNRNaksReceived, q.Retransmitted
	t.rtt = time.Duration(ch.qp.Query().Flow.SmoothedRTT)
	if ch.fallback != nil {
		t.fallback = ch.fallback.snapshot()
	}
}

func (t *transportSample) store(s *Stats) {
	s.RNRs, s.Retransmitted, s.RTT = t.rnrs, t.retransmitted, t.rtt
	s.OnTCP, s.Moves, s.LastMove = t.fallback.onTCP, t.fallback.moves, t.fallback.reason
}

// ContextStats are what a context has.
type ContextStats struct {
	Channels     int `stat:"gauge"`
	Listeners    int `stat:"gauge"`
	FrameBytes   int `stat:"gauge"` // memory for small messages and receives
	BufferBytes  int `stat:"gauge"` // memory for large messages, and of it what is not used
	UnusedBytes  int `stat:"gauge"`
	PendingBytes int `stat:"gauge"` // of large messages that the application does not have yet
	Waiting      int `stat:"gauge"` // messages that wait for a handler's goroutine
	CachedQPs    int `stat:"gauge"` // queue pairs that wait for later channels
	ReusedQPs    uint64
	// These are counted when they are asked for, and not published.
	UnusedFrameBytes int    `stat:"-"` // of FrameBytes what is not used
	OnTCP            int    `stat:"-"` // channels whose packets go by TCP now
	Strangers        uint64 `stat:"-"` // TCP connections that belonged to no channel, and were refused
}

// Stats returns what the context has now.
func (c *Context) Stats() (s ContextStats) {
	c.exclusive(func() {
		c.count(&s)
		for _, ch := range c.channels {
			if ch != nil && ch.fallback != nil && ch.fallback.snapshot().onTCP {
				s.OnTCP++
			}
		}
	})
	s.UnusedFrameBytes = c.memory.unusedFrames()
	if c.streams != nil {
		s.Strangers = c.streams.strangersRefused()
	}
	return s
}

func (c *Context) count(s *ContextStats) {
	s.Channels, s.Listeners = len(c.channels)-len(c.freeNumbers), len(c.listeners)
	s.PendingBytes, s.Waiting = c.bulk.memory, int(c.waiting.Load())
	s.FrameBytes, s.BufferBytes = int(c.memory.frames.Load()), int(c.memory.buffers.Load())
	s.UnusedBytes = s.BufferBytes - int(c.memory.inUse.Load())
	s.CachedQPs, s.ReusedQPs = len(c.qps.waiting), c.qps.reused
}
