package session

import "fmt"

// Describe says where a session stands.
func (s *Session) Describe() string {
	return fmt.Sprintf("queue %d responses %d owed %d held %d windowed %d/%d calls %d fetches %d; unacked %d acked %d edge %d; arrived %d taken %d edge %d posted %d target %d; told %d %d echo %d; control sent %d echoed %d seen %d; ackNow %v nop %v ackAt %v nopAt %v",
		s.tx.queue.Len(), s.tx.responses.Len(), s.rx.owed, s.rx.held, s.tx.windowed, s.rx.windowed, s.calls.count, s.rx.fetches.Len(), s.tx.unacknowledged(), s.tx.acked, s.tx.edge, [...]int{s.rx.window[prompt].Len(), s.rx.window[late].Len()}, s.rx.taken, s.rx.edge, s.rx.posted, s.rx.target,
		s.toldTaken, s.toldEdge, s.toldEcho, s.controlSent, s.controlEchoed, s.controlSeen, s.ackNow, s.nopDue, s.ackAt, s.nopAt)
}
