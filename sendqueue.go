package braid

import "github.com/braid-rdma/braid/verbs"

// sendQueue knows how full the send queue of a queue pair is. Only one in signalEvery
// sends tells its completion; those before it are then done as well.
type sendQueue struct {
	posted   int     // that hold a place
	unsigned int     // of them, since the last that tells
	groups   []uint8 // sends up to each that tells, in a ring
	first, n int
}

// newSendQueue makes one for a queue of some depth. All of them may tell.
func newSendQueue(depth int) sendQueue { return sendQueue{groups: make([]uint8, depth)} }

// next counts a send and says whether it is to tell its completion.
func (q *sendQueue) next(tell bool) verbs.SendFlags {
	q.posted++
	q.unsigned++
	if !tell && q.unsigned < signalEvery {
		return 0
	}
	q.groups[(q.first+q.n)%len(q.groups)] = uint8(q.unsigned)
	q.n++
	q.unsigned = 0
	return verbs.Signaled
}

// completed frees the places up to the oldest send that tells.
func (q *sendQueue) completed() {
	q.posted -= int(q.groups[q.first])
	q.first, q.n = (q.first+1)%len(q.groups), q.n-1
}
