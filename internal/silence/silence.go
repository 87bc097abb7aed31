// Package silence finds out that a peer does not respond, from the timeouts of a queue pair and the
// replies that arrive. Engines ask it for the watcher of a network (verbs.NetworkWatcher).
//
//	replies ── Replied ──> Watch <── TimedOut ── timeouts: silent?
package silence

import "time"

// Watch is what an engine knows of a peer that may not respond. The zero value has no packets.
type Watch struct {
	replies        uint64 // of the peer, by any way
	seen, timeouts uint64 // of those and of timeouts, how many there were when it was last looked at
	sent           uint64 // packets, when the series began or the peer was last found silent
	since          time.Duration
}

// defaultLimit is how long a peer may be silent to which requests wait without an ACK timeout.
const defaultLimit = time.Second

// Begin makes the next timeout the first of a series: packets go by another way now, and that they are not
// replied to shows only at the timeout after the next, which an idle connection has long after an ACK timeout.
func (w *Watch) Begin() { w.seen = w.replies - 1 }

// Replied notes a packet of the peer that is no request: a request shows that the peer reaches this side, not
// that this side reaches the peer.
func (w *Watch) Replied() { w.replies++ }

// TimedOut follows a timer of the queue pair, which has had so many timeouts by now and sent so many packets and
// questions to an idle peer. It returns true when packets were sent again for as long as an ACK timeout lasts and
// the peer has replied to nothing. So a connection of RC has two of its timeouts behind it, and six before it until it gives up.
//
// A timeout after which nothing could be sent asks the peer nothing: of the two streams of a multi-path connection
// one may have the whole window, for a packet that was lost before packets went by another way.
func (w *Watch) TimedOut(now time.Duration, timeouts, sent uint64, ackTimeout time.Duration) bool {
	if timeouts == w.timeouts {
		return false
	}
	w.timeouts = timeouts
	if w.replies != w.seen || w.sent == sent {
		w.seen, w.sent, w.since = w.replies, sent, now
		return false
	}
	limit := ackTimeout
	if limit <= 0 {
		limit = defaultLimit
	}
	// A timer is never early, but the first of two may have been late by more than the second.
	if now-w.since < limit-limit/8 {
		return false
	}
	w.sent, w.since = sent, now
	return true
}
