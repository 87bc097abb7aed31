// Package pingpong is the other end of libibverbs' example programs: it implements
// the exchange of ibv_rc_pingpong, ibv_ud_pingpong and ibv_srq_pingpong, and
// plays their game over braid's queue pairs, in either role.
//
//	Serve, Dial ──> exchange: addresses of the queue pairs over TCP ──> connected
//	play: a message comes ──> it is checked ──> one goes back, until all have been
//
// The programs send from the memory that they receive into, so every message
// returns what the peer sent before. Play uses this: it sends other bytes each
// time and knows what has to come back.
//
// A program exits when it has all messages and the acknowledgements of its own.
// If its acknowledgement of our last message is lost, nobody repeats it, and our
// SEND ends with verbs.ErrRetryExceeded although the message arrived. Two of the
// programs do this to each other as well; here a client knows from the replies
// that all arrived, and a server returns ErrUnacknowledged.
package pingpong
