package rping

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/verbs"
)

// Port is the one that rping listens on.
const Port = 7174

// MaxSize is the longest ping that a server takes, as in rping.
const MaxSize = 64 * 1024

var (
	// ErrMessage is a message that breaks the conversation.
	ErrMessage = errors.New("rping: invalid message")
	// ErrData is a reply that differs from the ping.
	ErrData = errors.New("rping: wrong data")
)

// invitation is a message: memory that the server is to read or to write.
type invitation struct {
	addr uint64
	rkey verbs.RKey
	size uint32
}

const invitationLen = 16

func (i invitation) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, i.addr)
	b = binary.BigEndian.AppendUint32(b, uint32(i.rkey))
	return binary.BigEndian.AppendUint32(b, i.size)
}

func parseInvitation(b []byte) (invitation, error) {
	if len(b) != invitationLen {
		return invitation{}, fmt.Errorf("%w: %d bytes", ErrMessage, len(b))
	}
	i := invitation{binary.BigEndian.Uint64(b), verbs.RKey(binary.BigEndian.Uint32(b[8:])), binary.BigEndian.Uint32(b[12:])}
	if i.size == 0 || i.size > MaxSize {
		return invitation{}, fmt.Errorf("%w: a ping of %d bytes", ErrMessage, i.size)
	}
	return i, nil
}

// receiveSlots is how many receives are posted; the conversation needs one at a
// time, and a second while the first is looked at.
const receiveSlots = 2

// End is one end of a conversation.
type End struct {
	// AckTimeout, if not zero, is that of the queue pair (see verbs.ConnOptions). It
	// is set before Options is called.
	AckTimeout time.Duration

	pd       *verbs.PD
	cq       *verbs.CQ
	messages *verbs.MR // room for what is received, then for what is sent
	ping     *verbs.MR // what the client sends; at the server unused
	reply    *verbs.MR // what comes back; at the server what it has read
	qp       *verbs.QP
	arrived  []int // slots with messages that were not yet looked at
	ended    int   // requests that have completed and were not yet waited for
}

// NewEnd makes an end on a device. Closing the device frees it.
func NewEnd(d *verbs.Device) (*End, error) {
	pd, err := d.CreatePD()
	if err != nil {
		return nil, err
	}
	e := &End{pd: pd}
	if e.cq, err = d.CreateCQ(32); err != nil {
		return nil, err
	}
	if e.messages, err = pd.AllocMemory((receiveSlots+1)*invitationLen, verbs.LocalWrite); err != nil {
		return nil, err
	}
	if e.ping, err = pd.AllocMemory(MaxSize, verbs.LocalWrite|verbs.RemoteRead); err != nil {
		return nil, err
	}
	e.reply, err = pd.AllocMemory(MaxSize, verbs.LocalWrite|verbs.RemoteWrite)
	return e, err
}

// Options are those with which to dial or to accept.
func (e *End) Options() cm.Options {
	return cm.Options{
		PD:      e.pd,
		QP:      verbs.QPOptions{Type: verbs.RC, SendCQ: e.cq, SignalAll: true, Conn: verbs.ConnOptions{AckTimeout: e.AckTimeout}},
		Prepare: e.prepare,
	}
}

// prepare posts the receives before the peer can send.
func (e *End) prepare(qp *verbs.QP) error {
	e.qp = qp
	for slot := range receiveSlots {
		if err := e.postReceive(slot); err != nil {
			return err
		}
	}
	return nil
}

func (e *End) postReceive(slot int) error {
	return e.qp.PostRecv(&verbs.RecvWR{
		ID: uint64(slot), SGEs: []verbs.SGE{e.messages.SGE(slot*invitationLen, invitationLen)},
	})
}

// collect waits for completions and sorts them.
func (e *End) collect(ctx context.Context) error {
	var done [4]verbs.Completion
	n, err := e.cq.Wait(ctx, done[:])
	if err != nil {
		return err
	}
	for i := range done[:n] {
		c := &done[i]
		switch err := c.Err(); {
		case err != nil:
			return err
		case c.Op != verbs.OpRecv:
			e.ended++
		case c.Bytes != invitationLen:
			return fmt.Errorf("%w: %d bytes", ErrMessage, c.Bytes)
		default:
			e.arrived = append(e.arrived, int(c.WRID))
		}
	}
	return nil
}

// do posts a request and waits for its end.
func (e *End) do(ctx context.Context, wr *verbs.SendWR) error {
	if err := e.qp.PostSend(wr); err != nil {
		return err
	}
	for e.ended == 0 {
		if err := e.collect(ctx); err != nil {
			return err
		}
	}
	e.ended--
	return nil
}

// say sends a message.
func (e *End) say(ctx context.Context, i invitation) error {
	offset := receiveSlots * invitationLen
	copy(e.messages.Bytes()[offset:], i.append(nil))
	return e.do(ctx, &verbs.SendWR{
		Op: verbs.OpSend, SGEs: []verbs.SGE{e.messages.SGE(offset, invitationLen)},
	})
}

// receive waits for a message, and returns its bytes.
func (e *End) receive(ctx context.Context) ([]byte, error) {
	for len(e.arrived) == 0 {
		if err := e.collect(ctx); err != nil {
			return nil, err
		}
	}
	slot := e.arrived[0]
	e.arrived = e.arrived[1:]
	message := append([]byte(nil), e.messages.Bytes()[slot*invitationLen:][:invitationLen]...)
	return message, e.postReceive(slot)
}
