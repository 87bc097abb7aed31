package verbs

import "sync/atomic"

// slots counts the requests of one work queue until the program has polled
// their completions, not only until they are done. A program that posts until
// the queue is full and then polls is so held to the depth of the queue, and a
// completion queue as deep as all the queues it serves cannot overflow.
//
// All but unpolled is under the lock of the loop. Numbers of requests wrap.
type slots struct {
	depth  uint32
	posted uint32 // requests ever posted
	// done counts the requests that are known to be done: those up to the latest
	// completion. Unsignalled requests after it may be done as well, unseen.
	done     uint32
	signaled numberQueue // the requests after done that will report success
	// unpolled counts the completions that are in the completion queue.
	unpolled atomic.Int32
}

// full says whether there is no room for another request. Without completions
// to poll that is for the transport to say, which knows what is outstanding
// exactly; so polling always makes room.
func (s *slots) full() bool {
	unpolled := uint32(s.unpolled.Load())
	return unpolled > 0 && unpolled+s.posted-s.done >= s.depth
}

// post counts a request that the transport has taken.
func (s *slots) post(signaled bool) {
	s.posted++
	if signaled {
		s.signaled.push(s.posted)
	}
}

// complete counts a completion on its way to the program. Requests complete in
// order, so a success is that of the oldest signalled request. A failure comes
// with the flush of the whole queue.
func (s *slots) complete(success bool) {
	if success && s.signaled.size > 0 {
		s.done = s.signaled.pop()
	} else {
		s.forget()
	}
}

// forget counts every request as done.
func (s *slots) forget() {
	s.done = s.posted
	s.signaled.size = 0
}

// numberQueue is a growing queue of numbers; its length is a power of two.
type numberQueue struct {
	numbers    []uint32
	head, size int
}

func (q *numberQueue) push(n uint32) {
	if q.size == len(q.numbers) {
		grown := make([]uint32, max(4, 2*q.size))
		for i := range q.size {
			grown[i] = q.numbers[(q.head+i)&(len(q.numbers)-1)]
		}
		q.numbers, q.head = grown, 0
	}
	q.numbers[(q.head+q.size)&(len(q.numbers)-1)] = n
	q.size++
}

func (q *numberQueue) pop() uint32 {
	n := q.numbers[q.head]
	q.head = (q.head + 1) & (len(q.numbers) - 1)
	q.size--
	return n
}
