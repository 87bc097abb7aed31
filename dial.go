package braid

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/internal/session"
	"github.com/braid-rdma/braid/verbs"
)

// hello is what the two ends tell each other of themselves, in the private data of the
// connection manager:
//
//	bytes   field
//	0-2     "brd"
//	3       version
//	4-7     longest small message
//	8-11    longest message
//	12-13   messages that may be sent at first
type hello struct {
	small, maxMessage, window int
}

// maxInline is up to which length a frame is copied when it is posted, so that its memory is free
// again at once. It is longer than any frame without a message, which has a bit for each
// message that may wait for the application and for each call.
const maxInline = 256 + session.MaxHeader

// retries is as many as a queue pair may have; it gives up after one interval more.
const retries = 7

const (
	helloLen     = 14
	helloVersion = 1
)

func (h *hello) bytes() []byte {
	b := append(make([]byte, 0, helloLen), 'b', 'r', 'd', helloVersion)
	b = binary.BigEndian.AppendUint32(b, uint32(h.small))
	b = binary.BigEndian.AppendUint32(b, uint32(h.maxMessage))
	return binary.BigEndian.AppendUint16(b, uint16(h.window))
}

func (h *hello) parse(b []byte) error {
	if len(b) < helloLen || string(b[:3]) != "brd" {
		return ErrNotBraid
	}
	if b[3] != helloVersion {
		return fmt.Errorf("%w: version %d, this is version %d", ErrNotBraid, b[3], helloVersion)
	}
	h.small = int(binary.BigEndian.Uint32(b[4:]))
	h.maxMessage = int(binary.BigEndian.Uint32(b[8:]))
	h.window = int(binary.BigEndian.Uint16(b[12:]))
	if h.small < 1 || h.small > maxSmall || h.maxMessage < 1 || h.maxMessage > maxMessage || h.window > maxWindow {
		return fmt.Errorf("%w: messages of %d and %d bytes, a window of %d", ErrPeer, h.small, h.maxMessage, h.window)
	}
	return nil
}

// Dial connects to a context that listens at an address of the form host:port.
func (c *Context) Dial(ctx context.Context, address string) (*Channel, error) {
	ch, err := c.add()
	if err != nil {
		return nil, err
	}
	conn, err := c.manager.Dial(ctx, address, ch.options())
	if err == nil {
		err = ch.establish(conn)
	}
	if err != nil {
		ch.abandon(err)
		return nil, fmt.Errorf("braid: dial %s: %w", address, err)
	}
	return ch, nil
}

// options are those of the queue pair.
func (ch *Channel) options() cm.Options {
	cfg := ch.context.Config()
	kind := verbs.MP
	if cfg.SinglePath {
		kind = verbs.RC
	}
	// The receives for the first window are posted before the peer can know of it.
	h := hello{small: cfg.SmallMessage, maxMessage: cfg.MaxMessage, window: minWindow}
	return cm.Options{
		PD: ch.context.pd,
		QP: verbs.QPOptions{
			Type: kind, SendCQ: ch.context.cq, SendDepth: cfg.sendDepth(), RecvDepth: cfg.receiveDepth(),
			MaxSendSGE: 1, MaxRecvSGE: 1, MaxInline: maxInline,
			Conn: verbs.ConnOptions{
				Keepalive: cfg.Keepalive, Reads: readsPerChannel, ReadsServed: readsPerChannel,
				AckTimeout: cfg.Patience / (retries + 1), RetryCount: retries,
			},
		},
		PrivateData: h.bytes(),
		Prepare:     ch.prepare,
	}
}

// prepare posts the receives that the peer may need at once.
func (ch *Channel) prepare(qp *verbs.QP) (err error) {
	ch.context.exclusive(func() {
		ch.qp = qp
		ch.session = session.New(ch.context.cfg.session())
		for range ch.session.Wanted() {
			if err = ch.postReceive(); err != nil {
				return
			}
		}
		ch.session.Granted()
	})
	return err
}

// establish begins the traffic.
func (ch *Channel) establish(conn *cm.Conn) error {
	var h hello
	if err := h.parse(conn.PrivateData()); err != nil {
		conn.Close()
		return err
	}
	var err error
	ch.context.exclusive(func() {
		ch.conn, ch.peer, ch.small = conn, h, min(h.small, ch.context.cfg.SmallMessage)
		ch.session.Grant(h.window)
		ch.beginPublishing()
		if err = ch.Err(); err != nil {
			ch.context.background.Go(ch.disconnect)
			return
		}
		if ch.broken {
			ch.broken = false
			ch.queuePairFailed()
		}
	})
	return err
}

// abandon forgets a channel that did not come to be. Its queue pair is closed.
func (ch *Channel) abandon(err error) {
	ch.context.exclusive(func() {
		if ch.conn == nil {
			ch.ended.CompareAndSwap(nil, &err)
			ch.context.forget(ch)
		}
	})
}

// refusal is what a peer is told whose hello is not understood.
func refusal(err error) []byte {
	text := err.Error()
	return []byte(text[:min(len(text), cm.MaxRejectData)])
}
