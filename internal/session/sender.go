package session

import (
	"fmt"

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
	queue     fifo.Queue[*Out] // others that are not yet sent
	unacked   fifo.Queue[*Out] // sent; the peer's application has not received them
	done      fifo.Queue[*Out] // acknowledged, for PollAcked
	read      fifo.Queue[*Out] // large, and read by the peer, for PollRead
	acked     uint64           // messages that the peer's application has received

	// The window counts all but responses.
	edge      uint64 // those that may be sent
	windowed  uint64 // sent
	ackedThen uint64 // of them, received by the peer's application
}

// sent is how many messages were sent (SEQ).
func (t *sender) sent() uint64 { return t.acked + uint64(t.unacked.Len()) }

// add queues a message.
func (t *sender) add(m *Out) {
	if m.Kind.IsResponse() {
		t.responses.Push(m)
	} else {
		t.queue.Push(m)
	}
}

// blocked says whether messages wait for the peer's window.
func (t *sender) blocked() bool { return t.queue.Len() > 0 && t.windowed >= t.edge }

// peek returns the next message to send, or nil: a response, or another if the window is open and, if
// it is a call, there is a receive for its response.
func (t *sender) peek(mayCall bool) *Out {
	if t.responses.Len() > 0 {
		return t.responses.At(0)
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
	if m.Kind.IsResponse() {
		t.responses.Pop()
	} else {
		t.queue.Pop()
		t.windowed++
	}
	t.unacked.Push(m)
	return m
}

// withdraw takes a message back that was not sent.
func (t *sender) withdraw(m *Out) bool {
	same := func(o *Out) bool { return o == m }
	return t.queue.Remove(same) || t.responses.Remove(same)
}

// handle takes the news of a frame (algorithm 1, line 4). The window is what it says
// now: the peer never takes back what it has granted.
func (t *sender) handle(imm immediate) error {
	ack := imm.ack(t.acked)
	if ack > t.sent() {
		return fmt.Errorf("%w: message %d is acknowledged, %d were sent", ErrPeer, ack, t.sent())
	}
	for ; t.acked < ack; t.acked++ {
		m, _ := t.unacked.Pop()
		t.done.Push(m)
		if !m.Kind.IsResponse() {
			t.ackedThen++
		}
	}
	edge := t.ackedThen + imm.window()
	if edge < t.edge {
		return fmt.Errorf("%w: the window shrinks from %d to %d", ErrPeer, t.edge, edge)
	}
	t.edge = edge
	return nil
}

// handleRead takes the bitmap of messages beyond the acknowledged ones that the peer has read.
func (t *sender) handleRead(bitmap []byte) error {
	for i := range 8 * len(bitmap) {
		if bitmap[i/8]&(1<<(i%8)) == 0 {
			continue
		}
		if i >= t.unacked.Len() || !t.unacked.At(i).Large {
			return fmt.Errorf("%w: it has read message %d, which is not there to be read", ErrPeer, t.acked+uint64(i))
		}
		if m := t.unacked.At(i); !m.read {
			m.read = true
			t.read.Push(m)
		}
	}
	return nil
}
