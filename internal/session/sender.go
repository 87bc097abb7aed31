package session

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/braid-rdma/braid/internal/fifo"
)

// Out is a message to send.
type Out struct {
	Kind Kind
	Call uint32 // of a call; Send chooses that of a Request
	// Length is that of the payload. A large one stays where it is, at Source, until
	// the message is acknowledged; the peer reads it from there.
	Length int
	Large  bool
	Source Source
	Ref    any // the driver's
	// Trace is what the peer is told of the message's times; nil: nothing.
	Trace *Trace
	// SentAt is when PollFrame returned it; zero: it has not.
	SentAt time.Duration
	// AckedAt is when the news came that the peer's application has received it; zero: it has not.
	AckedAt time.Duration

	sent      bool
	abandoned bool
	read      bool // by the peer
}

// IsResponse says whether a message ends a call. The caller has a receive for it, so that it needs
// no place in the window: who handles calls never waits for the caller's program to read.
func (k Kind) IsResponse() bool { return k == Response || k == Failure }

// sender is the half of the window that is the peer's to open (algorithm 1, "Sender").
type sender struct {
	responses fifo.Queue[*Out] // not yet sent
	cancels   fifo.Queue[*Out] // not yet sent: they pass calls that wait for a response to another
	queue     fifo.Queue[*Out] // others that are not yet sent
	done      fifo.Queue[*Out] // acknowledged, for PollAcked
	read      fifo.Queue[*Out] // large, and read by the peer, for PollRead

	// Of each sequence, what was sent and the peer's application has not received, and how many it has.
	unacked [numSequences]fifo.Queue[*Out]
	acked   counts

	// The window counts all but responses.
	edge     uint64 // those that may be sent
	windowed uint64 // sent
}

// sent is how many messages of a sequence were sent (SEQ).
func (t *sender) sent(q sequence) uint64 { return t.acked[q] + uint64(t.unacked[q].Len()) }

// unacknowledged is how many were sent that the peer's application has not received.
func (t *sender) unacknowledged() int { return t.unacked[prompt].Len() + t.unacked[late].Len() }

// add queues a message.
func (t *sender) add(m *Out) {
	switch {
	case m.Kind.IsResponse():
		t.responses.Push(m)
	case m.Kind == Cancel:
		t.cancels.Push(m)
	default:
		t.queue.Push(m)
	}
}

// unsent is how many messages were not sent.
func (t *sender) unsent() int { return t.responses.Len() + t.cancels.Len() + t.queue.Len() }

// blocked says whether messages wait for the peer's window.
func (t *sender) blocked() bool { return t.cancels.Len()+t.queue.Len() > 0 && t.windowed >= t.edge }

// peek returns the next message to send, or nil: a response, or another if the window is open and, if
// it is a call, there is a receive for its response.
func (t *sender) peek(mayCall bool) *Out {
	if t.responses.Len() > 0 {
		return t.responses.At(0)
	}
	if t.cancels.Len() > 0 && t.windowed < t.edge {
		return t.cancels.At(0)
	}
	if t.queue.Len() == 0 || t.windowed >= t.edge || t.queue.At(0).Kind == Request && !mayCall {
		return nil
	}
	return t.queue.At(0)
}

// next takes it.
func (t *sender) next(mayCall bool) *Out {
	m := t.peek(mayCall)
	if m == nil {
		return nil
	}
	switch {
	case m.Kind.IsResponse():
		t.responses.Pop()
	case m.Kind == Cancel:
		t.cancels.Pop()
		t.windowed++
	default:
		t.queue.Pop()
		t.windowed++
	}
	t.unacked[m.sequence()].Push(m)
	return m
}

// withdraw takes a message back that was not sent.
func (t *sender) withdraw(m *Out) bool {
	same := func(o *Out) bool { return o == m }
	return t.queue.Remove(same) || t.responses.Remove(same)
}

// maxUnacknowledged bounds what the peer leaves without acknowledgement: beyond the window it is responses, which nothing else
// bounds if it goes on calling. An honest one has as many goroutines that call at the same time, and some few.
const maxUnacknowledged = 1 << 16

// handle takes the news of a frame (algorithm 1, line 4).
func (t *sender) handle(now time.Duration, imm immediate) error {
	if err := t.acknowledge(now, imm.sequence(), imm.taken(t.acked[imm.sequence()])); err != nil {
		return err
	}
	if n := t.unacknowledged(); n > maxUnacknowledged {
		return fmt.Errorf("%w: it acknowledges none of %d messages", ErrPeer, n)
	}
	edge := imm.edge(t.edge)
	if edge-t.edge > maxWindow {
		return fmt.Errorf("%w: the window shrinks from message %d", ErrPeer, t.edge)
	}
	if edge-t.windowed > maxWindow {
		return fmt.Errorf("%w: a window of %d messages", ErrPeer, edge-t.windowed)
	}
	t.edge = edge
	return nil
}

// acknowledge ends the messages of a sequence that the peer's application has received.
func (t *sender) acknowledge(now time.Duration, q sequence, taken uint64) error {
	if taken > t.sent(q) {
		return fmt.Errorf("%w: message %d is acknowledged, %d were sent", ErrPeer, taken, t.sent(q))
	}
	for ; t.acked[q] < taken; t.acked[q]++ {
		m, _ := t.unacked[q].Pop()
		m.AckedAt = now
		t.done.Push(m)
	}
	return nil
}

// handleLate takes what a control frame says of late messages.
func (t *sender) handleLate(now time.Duration, frame []byte) error {
	if len(frame) < lateCount {
		return fmt.Errorf("%w: a control frame of %d bytes", ErrPeer, len(frame))
	}
	count := immediate(binary.BigEndian.Uint16(frame))
	if err := t.acknowledge(now, late, count.taken(t.acked[late])); err != nil {
		return err
	}
	return t.handleRead(frame[lateCount:])
}

// handleRead takes the bitmap of late messages beyond the acknowledged ones that the peer has read.
func (t *sender) handleRead(bitmap []byte) error {
	unacked := &t.unacked[late]
	for i := range 8 * len(bitmap) {
		if bitmap[i/8]&(1<<(i%8)) == 0 {
			continue
		}
		if i >= unacked.Len() || !unacked.At(i).Large {
			return fmt.Errorf("%w: it has read message %d, which is not there to be read", ErrPeer, t.acked[late]+uint64(i))
		}
		if m := unacked.At(i); !m.read {
			m.read = true
			t.read.Push(m)
		}
	}
	return nil
}
