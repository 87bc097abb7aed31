package session

import (
	"encoding/binary"
	"fmt"

	"github.com/braid-rdma/braid/internal/fifo"
)

// In is a message that arrives.
type In struct {
	Kind    Kind
	Call    uint32
	Length  int
	Payload []byte // of a small message: within the receive's buffer
	Source  Source // of a large one
	Ref     any    // the driver's
	Request *Out   // of a Response or Failure: what it is to
	// Cancelled says that the caller gave up before the application received the call.
	Cancelled bool
	Trace     *Trace // what the peer tells of its times; nil: nothing

	large     bool // its payload is to be fetched
	remote    bool // its payload was at the peer; nobody may want it
	delivered bool
	taken     bool
	asked     int   // bytes that READs were posted for
	fetched   int   // bytes that have arrived
	told      Trace // to which Trace points
}

// Large says whether the payload is to be fetched.
func (m *In) Large() bool { return m.large }

// Complete says whether all of the payload is here.
func (m *In) Complete() bool { return !m.large || m.fetched == m.Length }

// receiver is the half of the window that is ours to open (algorithm 1, "Receiver").
type receiver struct {
	window     [numSequences]fifo.Queue[*In] // arrived, and the first of them not taken
	held       int                           // messages that the application has not received, responses apart
	owed       int                           // responses that may come, each into a receive of its own
	deliveries fifo.Queue[*In]               // for the application
	fetches    fifo.Queue[*In]               // large, and not all asked for
	taken      counts                        // messages that the application has received, in order (RTA)
	posted     int                           // receives that wait for a frame
	edge       uint64                        // messages that the peer was granted, responses apart
	windowed   uint64                        // of them, arrived
	scanned    int                           // of the late ones: one-way messages before it are delivered
	target     int                           // the window that we want to offer
}

// open extends the grant to what the posted receives allow.
func (r *receiver) open() {
	spare := r.posted - Reserve - r.owed
	r.edge = max(r.edge, r.windowed+uint64(max(0, min(spare, r.target-r.held))))
}

// granted is how many messages the peer may send now, responses apart.
func (r *receiver) granted() int { return int(r.edge - r.windowed) }

// spare is how many more responses there are receives for.
func (r *receiver) spare() int { return r.posted - Reserve - r.owed - r.granted() }

// wanted is how many receives are to be posted now. Messages that the application has not
// received count as well, so that it is the application that opens the window.
func (r *receiver) wanted(calls int) int {
	return max(0, max(r.granted(), r.target-r.held)+Reserve+r.owed+calls-r.posted)
}

// add takes a message.
func (r *receiver) add(m *In) error {
	if !m.Kind.IsResponse() {
		if r.windowed >= r.edge {
			return fmt.Errorf("%w: message %d, %d were granted", ErrPeer, r.windowed, r.edge)
		}
		r.windowed++
		r.held++
	}
	r.window[m.sequence()].Push(m)
	if m.large && m.Length > 0 {
		r.fetches.Push(m)
	} else {
		r.deliver(m)
	}
	return nil
}

// deliver hands a complete message on. Calls go at once, one-way messages in their order.
func (r *receiver) deliver(m *In) {
	if m.Kind != Oneway {
		r.deliveries.Push(m)
	}
	for ; r.scanned < r.window[late].Len(); r.scanned++ {
		next := r.window[late].At(r.scanned)
		if next.Kind != Oneway {
			continue
		}
		if !next.Complete() {
			return
		}
		r.deliveries.Push(next)
	}
}

// cancel marks a call that the application has not received: its caller has given it up.
func (r *receiver) cancel(call uint32) {
	for q := range r.window {
		for i := range r.window[q].Len() {
			if m := r.window[q].At(i); m.Kind == Request && m.Call == call {
				m.Cancelled = true
			}
		}
	}
}

// maxBehind is how many messages of a sequence the peer is told of, from the first on that the application has not
// received: as many as the bitmap of a control frame has room for where receives are shortest, 128 bytes.
const maxBehind = 1000

// take notes that the application has received a message. Those of its sequence count up to the first that it has
// not received; the window opens for each. One that it leaves lying while so many come behind it counts as well, since
// there is no end to the responses that may, and more than so many could not be told of.
func (r *receiver) take(m *In) {
	m.taken = true
	if !m.Kind.IsResponse() {
		r.held--
	}
	q := m.sequence()
	for window := &r.window[q]; window.Len() > 0 && (window.At(0).taken || window.Len() > maxBehind && window.At(0).delivered); r.taken[q]++ {
		window.Pop()
		if q == late {
			r.scanned = max(0, r.scanned-1)
		}
	}
	r.open()
}

// hasRead says whether the bitmap of appendLate has something to tell.
func (r *receiver) hasRead() bool {
	for i := range min(r.window[late].Len(), maxBehind) {
		if m := r.window[late].At(i); m.remote && m.Complete() {
			return true
		}
	}
	return false
}

// A control frame says of late messages
//
//	bytes   field
//	0-1     how many the application has received, modulo 2^14
//	2-      a bitmap of those after them, the lowest bit first
const lateCount = 2

// appendLate adds that. The bitmap has the large messages that are complete before their turn to be
// acknowledged: their senders may use the memory again.
func (r *receiver) appendLate(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(r.taken[late]&takenMask))
	start := len(b)
	for i := range min(r.window[late].Len(), maxBehind) {
		if m := r.window[late].At(i); m.remote && m.Complete() {
			for len(b) <= start+i/8 {
				b = append(b, 0)
			}
			b[start+i/8] |= 1 << (i % 8)
		}
	}
	return b
}
